"""pandas: the blocks of a frame, which several columns may share, and the arrays in its columns and
indexes.
"""

from ...owners import own_dict
from ...units import in_words
from ..whereabouts import describes

SEEN = "copy-on-write: another frame, series or index sees it too"
INSIDE = {
    "_ndarray": "",
    "_data": "data",
    "_mask": "mask",
    "_pa_array": "",
    "_left": "left",
    "_right": "right",
    "_sparse_values": "values",
    "categories": "categories",
}


@describes("pandas.DataFrame")
def data_frame(x):
    for block in x._mgr.blocks:
        first = block.mgr_locs.as_array[:4]
        more = len(block.mgr_locs) - 4
        names = ", ".join(map(str, x.columns[first])) + f" and {more:,} more" * (more > 0)
        together = (
            f"a block, a row of it for each of {more + 4:,} columns" if len(first) > 1 else ""
        )
        yield names, block.values, together, block.refs.has_reference() and SEEN
    yield "index", x.index


@describes("pandas.Series")
def series(x):
    (block,) = x._mgr.blocks
    return [("values", block.values, block.refs.has_reference() and SEEN), ("index", x.index)]


@describes("pandas.Index")
def index(x):
    yield "", x._data, x._references and x._references.has_reference() and SEEN
    table = x._cache.get("_engine")
    if table is not None and (size := table.sizeof(deep=True)):
        yield "lookup table", f"{in_words(size, 'bytes')}, made by the first lookup of a label"


@describes("pandas.RangeIndex")
def range_index(x):
    return [("", x._cache.get("_data", f"start, stop and step, no array: {x!r}"))]


@describes("pandas.MultiIndex")
def multi_index(x):
    for place, (name, codes, level) in enumerate(zip(x.names, x.codes, x._levels, strict=True)):
        name = place if name is None else name
        yield from [(f"{name}, codes", codes), (f"{name}, labels", level)]


@describes("pandas.ExtensionArray")
def extension_array(x):
    """An array of pandas' own: with a mask, of Arrow, of dates or categories, of intervals,
    sparse.
    """
    has = own_dict(x) | {
        name: getattr(x, name) for name in ("_ndarray", "categories") if hasattr(x, name)
    }
    return [(role, has[name]) for name, role in INSIDE.items() if name in has]
