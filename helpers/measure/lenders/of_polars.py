"""polars: its buffers as it lends them to Arrow. What it has in another form, Arrow would get a copy of."""

import sys
from collections.abc import Iterator
from typing import Any

COPIES = "not lent: polars has some of it in a form of its own (categories, objects), and Arrow would get a copy"


def frame(x: Any) -> Iterator[tuple]:
    yield from ((series.name, series) for series in x.get_columns())


def series(x: Any) -> Iterator[tuple]:
    arrow = sys.modules.get("pyarrow")
    if arrow is None:
        yield "buffers", "polars shows them to Arrow only: import pyarrow, and ask again"
    elif _is_copied(arrow, x.slice(0, 1)):
        yield "buffers", COPIES
    else:
        yield "", arrow.chunked_array(x), "polars' own"


def _is_copied(arrow: Any, x: Any) -> bool:
    """A copy has another address each time."""
    both = [arrow.chunked_array(x), arrow.chunked_array(x)]
    one, two = ([buffer and buffer.address for c in lent.chunks for buffer in c.buffers()] for lent in both)
    return one != two


LENDERS = {
    "DataFrame": frame,
    "Series": series,
    "LazyFrame": lambda x: [("plan", "no numbers: where(x.collect()) shows what it makes")],
}
