"""What keeps what alive, drawn from live objects: views at the left, owners at the right, their files below."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ...show.boxes import WIDE, pointed, sheet
from ...show.figure import (
    ABSENT,
    ANONYMOUS,
    FILE,
    INK,
    LOOK,
    QUIET,
    SHARED,
    UNKNOWN,
    WARNING,
    Kind,
    Picture,
    key,
    look,
    paint,
    picture,
)
from ...show.fitting import width as width_of
from ...show.fitting import wrapped
from ...units import in_words
from .keeps import Box, Tie, boxes_of

MEANING: dict[Tie, str] = {
    "kept": "keeps alive",
    "not counted": "keeps alive, not counted",
    "not kept": "points to, keeps nothing alive",
}
LINES = {"kept": "-", "not counted": (0, (4, 2)), "not kept": (0, (1, 1.5))}
MEMORY = {"file": FILE, "shared memory": SHARED, "heap": ANONYMOUS, "stack": ANONYMOUS, "anonymous mapping": ANONYMOUS}
WIDEST_BOX, LINE_HEIGHT, PADDING, ROW_GAP, BAND_WIDTH, KEY_HEIGHT = 224, 15, 7, 14, 9, 28  # the page's pixels
SMALL = 7.5  # points

Written = list[tuple[str, dict[str, Any]]]


def owners(caption: str = "", /, **named: Any) -> Picture:
    """A box for every object between a named object and the owner of its bytes, and an arrow to what it keeps alive.

    Takes arrays (memmaps too), memoryviews, mappings, SharedMemory, ctypes data and pointers, bytes, and anything else
    with a buffer. An owner of several views appears once, with the number of its exports, whoever holds them. A dashed
    arrow is a reference that the owner doesn't count: np.memmap, and `np.ndarray(buffer=…)` over a mapping or a
    bytearray, take no export (their `.base` is the owner itself, not a memoryview), so nothing stops the owner from
    closing or shrinking. A dotted arrow is only an address. The picture itself keeps nothing alive.

    TypeError for an object without bytes, ValueError if nothing is named.
    """
    if not named:
        raise ValueError("nothing to show: name the objects, as in owners(row=row, mapping=mapping)")
    boxes = boxes_of(named)
    return picture(_drawn(boxes), _alt(boxes), caption)


def _drawn(boxes: list[Box]) -> Figure:
    """Makes each box as tall as all the rows that lead to it, so no arrow crosses a box or another arrow."""
    roots = [box for box in boxes if box.to is None]
    columns = max(len(list(box.way())) for box in boxes)
    gaps = [_gap(boxes, columns - column, {2: 110, 3: 84}.get(columns, 40)) for column in range(1, columns)]
    width = min(WIDEST_BOX, (672 - sum(gaps)) / columns)
    lines = {box: _lines(box, width) for box in boxes}
    row = LINE_HEIGHT * max(map(len, lines.values())) + 2 * PADDING + ROW_GAP
    files = {root: wrapped(root.file, width - 2 * PADDING) for root in roots if root.file}
    keys = _keys(boxes)
    height = KEY_HEIGHT * len(keys) + 4 + sum(row * len(root.sources()) for root in roots)
    height += sum(30 + LINE_HEIGHT * len(words) + PADDING for words in files.values())
    with look():
        fig, ax = sheet(height)
        for index, handles in enumerate(keys):
            place = (0.005, 1 - index * KEY_HEIGHT / height)
            fig.legend(handles=handles, ncols=len(handles), loc="upper left", bbox_to_anchor=place, handlelength=2.6)
        placed, top = _Placed(ax, width, gaps, row, lines), KEY_HEIGHT * len(keys) + 4
        for root in roots:
            placed.tree(root, top)
            top += row * len(root.sources())
            if root in files:
                top = placed.file(files[root], top - ROW_GAP)
        return fig


class _Placed:
    """Where everything goes: named objects in the first column, owners in the last."""

    def __init__(self, ax: Axes, width: float, gaps: list[float], row: float, lines: dict[Box, Written]):
        self.ax, self.width, self.row, self.lines = ax, width, row, lines
        self.lefts = [4 + column * width + sum(gaps[:column]) for column in range(len(gaps) + 1)]
        self.gap_before = dict(zip(self.lefts[1:], gaps, strict=True))

    def tree(self, box: Box, top: float, steps: int = 0) -> tuple[float, float]:
        """Draws the box and all boxes that lead to it, from `top` down. Returns its right edge and its middle."""
        left = self.lefts[0] if box.to and not box.viewers else self.lefts[-1 - steps]
        tall = self.row * len(box.sources()) - ROW_GAP
        self._box(box, left, top, tall)
        under = top
        for viewer in box.viewers:
            start, middle = self.tree(viewer, under, steps + 1)
            self._arrow(viewer, start, left, middle)
            under += self.row * len(viewer.sources())
        return left + self.width, top + tall / 2

    def file(self, words: list[str], top: float) -> float:
        """Draws the file below an owner whose box ends at `top`. Returns where the next box may begin."""
        left, middle, tall = self.lefts[-1], self.lefts[-1] + self.width / 2, LINE_HEIGHT * len(words) + PADDING
        pointed(self.ax, [(middle, top), (middle, top + 20)])
        self.ax.text(middle + 8, top + 10, "maps", va="center", color=QUIET)
        self.ax.add_patch(Rectangle((left, top + 20), self.width, tall, linewidth=0, **paint(ABSENT)))
        self.ax.text(middle, top + 20 + tall / 2, "\n".join(words), ha="center", va="center", linespacing=1.3)
        return top + 20 + tall + 10 + ROW_GAP

    def _box(self, box: Box, left: float, top: float, tall: float) -> None:
        edge = {"facecolor": "white", "edgecolor": WARNING if box.gone else INK, "linewidth": 1}
        self.ax.add_patch(Rectangle((left, top), self.width, tall, **edge))
        if box.memory:
            right = left + self.width - BAND_WIDTH - 0.5
            self.ax.add_patch(Rectangle((right, top + 0.5), BAND_WIDTH, tall - 1, linewidth=0, **paint(_kind(box))))
        y = top + (tall - LINE_HEIGHT * len(self.lines[box])) / 2
        for words, how in self.lines[box]:
            self.ax.text(left + PADDING, y + LINE_HEIGHT / 2, words, va="center_baseline", **how)
            y += LINE_HEIGHT

    def _arrow(self, box: Box, start: float, end: float, y: float) -> None:
        color = INK if box.tie == "kept" else WARNING
        pointed(self.ax, [(start, y), (end, y)], color, LINES[box.tie])
        x = end - self.gap_before[end] / 2  # clear of the arrow's head
        self.ax.text(x, y - 4, box.attribute, ha="center", va="bottom", color=QUIET)
        if box.tie != "kept":
            self.ax.text(x, y + 5, box.tie, ha="center", va="top", color=WARNING, fontsize=SMALL)


def _lines(box: Box, width: float) -> Written:
    """A box's text, wrapped to its width, and the style of each line."""
    written: Written = [
        (", ".join(box.names) or box.kind, {"fontweight": "bold"}),
        (f"{box.kind}, {box.role}" if box.names else box.role, {}),
        (f"{'to ' * box.pointer}{box.span[0]:#x}" if box.span else "", {"color": QUIET, "fontsize": SMALL}),
        (_exports(box.count), {}),
        (box.gone, {"color": WARNING, "fontweight": "bold"}),
    ]
    room = width - 2 * PADDING - (BAND_WIDTH if box.memory else 0)
    return [
        (line, how)
        for words, how in written
        for line in wrapped(words, room, how.get("fontsize", LOOK["font.size"]), bold="fontweight" in how)
    ]


def _gap(boxes: list[Box], steps: int, least: float) -> float:
    """Pixels before the column `steps` from the right edge: enough for the labels of its arrows."""
    into = [box for box in boxes if box.to and len(list(box.to.way())) == steps]
    labels = [width_of(box.attribute) for box in into]
    labels += [width_of(box.tie, SMALL) for box in into if box.tie != "kept"]
    return max([least, *(label + 10 for label in labels)])


def _keys(boxes: list[Box]) -> list[list[Line2D | Patch]]:
    """The legend: the arrows and the kinds of memory that occur, in one row if they fit."""
    ties = [tie for tie in MEANING if any(box.to and box.tie == tie for box in boxes)]
    arrows = [
        Line2D([], [], color=INK if tie == "kept" else WARNING, linewidth=1.3, linestyle=LINES[tie], label=MEANING[tie])
        for tie in ties
    ]
    kinds = [key(kind) for kind in dict.fromkeys(_kind(box) for box in boxes if box.memory)]
    if sum(width_of(handle.get_label()) + 60 for handle in (*arrows, *kinds)) < WIDE:
        return [[*arrows, *kinds]] * bool(arrows or kinds)
    return [arrows, kinds]


def _kind(box: Box) -> Kind:
    return MEMORY.get(box.memory, UNKNOWN)


def _exports(count: int | None) -> str:
    return "" if count is None else f"{count:,} export{'' if count == 1 else 's'}"


def _alt(boxes: list[Box]) -> str:
    """One sentence for each object that nothing else leads to: its way to the owner."""
    sentences: list[str] = []
    seen: set[Box] = set()
    for source in (box for box in boxes if not box.viewers):
        sentence = f"{', '.join(source.names)}: {source.kind}, {source.role}"
        sentence += _more(source) if source.to is None else f" ({source.gone})" * bool(source.gone)
        for box, under in zip(way := list(source.way()), way[1:], strict=False):
            arrow = "->" if box.tie == "kept" else f"-> ({box.tie})" if box.tie == "not counted" else "-> (an address)"
            sentence += f" {arrow} {_short(under, under in seen)}"
            seen.add(under)
        sentences.append(f"{sentence}.")
    return f"What keeps what alive, from view to owner. {' '.join(sentences)}"


def _short(box: Box, again: bool) -> str:
    """An object on the way; an owner's size and exports only the first time."""
    name = f"{', '.join(box.names)}: " if box.names else ""
    if again:
        return f"the same {', '.join(box.names) or box.kind}"
    size = f" of {in_words(box.span[1], 'bytes')}" if box.span and box.to is None else ""
    return f"{name}{box.kind}{size}{_more(box)}"


def _more(box: Box) -> str:
    state = ", ".join(filter(None, (_exports(box.count), box.gone)))
    return f" ({state})" * bool(state) + f" -> {box.file}" * bool(box.file)
