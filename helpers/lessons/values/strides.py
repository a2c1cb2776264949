"""How a view steps over the numbers of an array, which lie in a row."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ...show.boxes import Arrow, Box
from ...show.chart import Place, Row, chart
from ...show.figure import INK, Picture, look
from ...show.text import BOLD, FAINT


class Hop(Arrow):
    """From a number to the one that is read next: above if it leads to the right."""

    def draw(self, ax: Axes, start: Place, end: Place) -> None:
        way = end.left - start.left
        y = start.top if way > 0 else start.foot
        bend = f"arc3,rad={-0.5 / (abs(way) / start.wide) ** 0.5}"
        how = {"arrowstyle": "-|>", "connectionstyle": bend, "color": INK}
        ax.annotate("", (end.center, y), (start.center, y), arrowprops=how)


@look()
def strides(array: np.ndarray, results: Mapping[str, np.ndarray]) -> Picture:
    """A row for each result: the memory in which it lies, that of `array` or its own, in bold the
    numbers that it reads, and a hop from each to the next. All have numbers of 8 bytes; `array` has
    them row after row.
    """
    rows = []
    hops = []
    for name, result in results.items():
        owner = array if np.shares_memory(array, result) else result
        first = (result.ctypes.data - owner.ctypes.data) // 8
        places = np.arange(owner.size)[first:]
        read = np.lib.stride_tricks.as_strided(places, result.shape, result.strides).ravel()
        boxes = [
            Box([(f"{number:g}", BOLD if at in read else FAINT)], align="center")
            for at, number in enumerate(owner.flat)
        ]
        hops += [Hop(boxes[start], boxes[end]) for start, end in pairwise(read)]
        notes = [f"strides {result.strides}"]
        if owner is not array:
            notes.append("its own memory")
        order = " ".join(f"{number:g}" for number in result.flat)
        rows.append(Row(name, boxes, [*notes, f"read in the order {order}"], notes))
    opening = "Numbers side by side in memory, and how each array steps over them"
    keys = [Line2D([], [], color=INK, label="to the number that is read next")]
    return chart(opening, rows, keys=keys, arrows=hops, labels=130, gap=0, between=48)
