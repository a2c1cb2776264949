"""pandas: the blocks of a frame, which several columns may share, and the arrays in its columns and indexes."""

from collections.abc import Iterator
from typing import Any

from ...owners import own_dict

NAMES = 4  # of a block's columns
INSIDE = {"_data": "data", "_mask": "mask", "_pa_array": "", "_left": "left", "_right": "right",
          "_sparse_values": "values"}  # fmt: skip


def frame(x: Any) -> Iterator[tuple]:
    for block in x._mgr.blocks:
        labels = [str(x.columns[place]) for place in block.mgr_locs.as_array[:NAMES]]
        more = len(block.mgr_locs) - len(labels)
        together = f"a block, a row of it for each of {len(block.mgr_locs):,} columns" if len(labels) > 1 else ""
        yield ", ".join(labels) + f" and {more:,} more" * bool(more), block.values, together, _seen(block.refs)
    yield "index", x.index


def series(x: Any) -> Iterator[tuple]:
    (block,) = x._mgr.blocks
    yield "values", block.values, _seen(block.refs)
    yield "index", x.index


def index(x: Any) -> Iterator[tuple]:
    yield "", x._data, _seen(x._references)


def counted(x: Any) -> Iterator[tuple]:
    made = x._cache.get("_data")
    yield "", f"start, stop and step, no array: {x!r}" if made is None else made


def many_levels(x: Any) -> Iterator[tuple]:
    for place, (name, codes, level) in enumerate(zip(x.names, x.codes, x._levels, strict=True)):
        yield f"{place if name is None else name}, codes", codes
        yield f"{place if name is None else name}, labels", level


def extension(x: Any) -> Iterator[tuple]:
    """An array of pandas' own: with a mask, of Arrow, of dates or categories, of intervals, sparse."""
    if hasattr(x, "_ndarray"):
        yield "", x._ndarray
    yield from ((role, own_dict(x)[name]) for name, role in INSIDE.items() if name in own_dict(x))
    if hasattr(x, "categories"):
        yield "categories", x.categories


def _seen(references: Any) -> str:
    others = references is not None and references.has_reference()
    return "copy-on-write: another frame, series or index sees it too" if others else ""


LENDERS = {
    "DataFrame": frame,
    "Series": series,
    "RangeIndex": counted,
    "MultiIndex": many_levels,
    "Index": index,
    "ExtensionArray": extension,
}
