"""Pillow: its pixels lie in blocks of its own. It lends them to Arrow, if they lie in a row; numpy gets a copy."""

import sys
from collections.abc import Iterator
from typing import Any

BLOCKS = "in several blocks of Pillow's own, which it doesn't lend; np.asarray(x) copies them"


def image(x: Any) -> Iterator[tuple]:
    size = f"{x.mode}, {x.width:,} x {x.height:,} pixels"
    if x._im is None:
        yield "pixels", f"{size}, not in memory: x.load() decodes them"
    elif getattr(x, "map", None):
        yield "pixels", x.map, f"{size}, in a mapping of the file"
    elif "pyarrow" not in sys.modules:
        yield "pixels", f"{size}: Pillow shows them to Arrow only, so import pyarrow, and ask again"
    else:
        try:
            lent = sys.modules["pyarrow"].array(x)
        except ValueError:
            yield "pixels", f"{size}, {BLOCKS}"
        else:
            yield "pixels", lent, f"{size}, a buffer that was lent to Pillow" if x.readonly else f"{size}, Pillow's own"


LENDERS = {"Image": image}
