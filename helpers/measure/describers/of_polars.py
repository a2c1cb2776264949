"""polars: its buffers as it lends them to Arrow. What it has in another form, Arrow would get a
copy of.
"""

import sys

from ..whereabouts import describes


@describes("polars.DataFrame")
def data_frame(x):
    return [(series.name, series) for series in x.get_columns()]


@describes("polars.Series")
def series(x):
    arrow = sys.modules.get("pyarrow")
    if arrow is None:
        return [("buffers", "polars shows them to Arrow only: import pyarrow, and ask again")]
    # a copy has another address each time
    twice = [arrow.chunked_array(x.slice(0, 1)) for _ in range(2)]
    one, two = (
        [part and part.address for c in lent.chunks for part in c.buffers()] for lent in twice
    )
    if one != two:
        why = (
            "polars has some of it in a form of its own (categories, objects), and Arrow would get "
            "a copy"
        )
        return [("buffers", f"not lent: {why}")]
    return [("", arrow.chunked_array(x), "polars' own")]


@describes("polars.LazyFrame")
def lazy_frame(x):
    return [("plan", "no numbers: where(x.collect()) shows what it makes")]
