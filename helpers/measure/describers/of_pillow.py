"""Pillow: its pixels lie in blocks of its own. It lends them to Arrow, if they lie in a row; numpy
gets a copy.
"""

import sys

from ..whereabouts import describes


@describes("PIL.Image")
def image(x):
    size = f"{x.mode}, {x.width:,} x {x.height:,} pixels"
    arrow = sys.modules.get("pyarrow")
    if x._im is None:
        return [("pixels", f"{size}, not in memory: x.load() decodes them")]
    if getattr(x, "map", None):
        return [("pixels", x.map, f"{size}, in a mapping of the file")]
    if not hasattr(x, "__arrow_c_array__"):  # before 11.2
        return [("pixels", f"{size}, which this Pillow lends to nobody; np.asarray(x) copies them")]
    if arrow is None:
        return [
            ("pixels", f"{size}: Pillow shows them to Arrow only, so import pyarrow, and ask again")
        ]
    try:
        whose = "a buffer that was lent to Pillow" if x.readonly else "Pillow's own"
        return [("pixels", arrow.array(x), f"{size}, {whose}")]
    except ValueError:
        blocks = (
            "in several blocks of Pillow's own, which it doesn't lend; np.asarray(x) copies them"
        )
        return [("pixels", f"{size}, {blocks}")]
