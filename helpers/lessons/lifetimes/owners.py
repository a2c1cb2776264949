"""What keeps what alive: a box for each object on the way from a named object to the owner of its
bytes; and their picture, with views at the left, owners at the right, their files below. And how
many buffers of an owner are lent.
"""

import array
import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...measure.pages import extent
from ...measure.whereabouts import of_buffer
from ...owners import POINTERS, Link, address_of, link_of
from ...show import boxes as show
from ...show.chart import Row, layout
from ...show.figure import (
    ABSENT,
    INK,
    KINDS,
    UNKNOWN,
    WARNING,
    Picture,
    key,
    look,
    picture,
)
from ...show.text import BOLD, PLAIN, SMALL, WARN, Line, width
from ...units import in_words

Tie = Literal["kept", "not counted", "not kept"]
MEANING: dict[Tie, str] = {
    "kept": "keeps alive",
    "not counted": "keeps alive, not counted",
    "not kept": "points to, keeps nothing alive",
}
LINES: dict[Tie, tuple[str, Any]] = {
    "kept": (INK, "-"),
    "not counted": (WARNING, (0, (4, 2))),
    "not kept": (WARNING, (0, (1, 1.5))),
}
MEMORY = {"file": KINDS["file"], "shared memory": KINDS["shared"]}
MEMORY |= dict.fromkeys(("heap", "stack", "anonymous mapping"), KINDS["anonymous"])
WIDEST = 224  # the page's pixels, of a box
WORD_SIZE = ctypes.sizeof(ctypes.c_ssize_t)
# Types that count their exports, because a lent buffer must not move or go; each with a maker of a
# throwaway object.
COUNTING: dict[type, Callable[[], Any]] = {
    bytearray: lambda: bytearray(8),
    mmap.mmap: lambda: mmap.mmap(-1, mmap.PAGESIZE),
    array.array: lambda: array.array("B", bytes(8)),
}


@dataclass(eq=False)
class Box:
    """An object, as text. A box doesn't keep its object, so the picture keeps nothing alive."""

    kind: str
    role: str
    span: tuple[int, int] | None  # address and bytes; None where there is nothing to read
    names: list[str] = field(default_factory=list)
    count: int | None = None  # exports that are out; None if the object keeps no count
    gone: str = ""  # why its bytes can no longer be read; "" if they can
    memory: str = ""  # where an owner's bytes lie, as `where` says it; "" if it owns none
    file: str = ""  # the file below
    attribute: str = ""  # this and `tie` describe the arrow to `to`
    tie: Tie = "kept"
    to: "Box | None" = None
    viewers: list["Box"] = field(default_factory=list)
    pointer: bool = False  # it points to `span`, and that is all

    def way(self) -> Iterator["Box"]:
        """From here to the owner."""
        yield self
        if self.to:
            yield from self.to.way()

    def sources(self) -> list["Box"]:
        """The boxes that lead here and that nothing leads to: a row each."""
        return [source for viewer in self.viewers for source in viewer.sources()] or [self]


@look()
def owners(caption: str = "", /, **named: Any) -> Picture:
    """A box for every object between a named object and the owner of its bytes, and an arrow to
    what it keeps alive. Takes whatever has a buffer, SharedMemory, ctypes data and pointers. An
    owner of several views appears once, with the number of its exports, whoever holds them. A
    dashed arrow is a reference that the owner doesn't count: np.memmap, and `np.ndarray(buffer=…)`
    over a mapping or a bytearray, take no export (their `.base` is the owner itself, not a
    memoryview), so nothing stops the owner from closing or shrinking. A dotted arrow is only an
    address. The picture itself keeps nothing alive. TypeError for an object without bytes,
    ValueError if nothing is named.
    """
    if not named:
        raise ValueError(
            "nothing to show: name the objects, as in owners(row=row, mapping=mapping)"
        )
    boxes = _boxes_of(named)
    return picture(_drawn(boxes), _alt(boxes), caption)


def _boxes_of(named: Mapping[str, Any]) -> list[Box]:
    """The boxes of the named objects and all they lead to, tied together. TypeError if an object
    shows no bytes.
    """
    objects: dict[int, Any] = {}
    links: dict[int, Link] = {}
    boxes: dict[int, Box] = {}
    for name, obj in named.items():
        try:
            if not isinstance(obj, (memoryview, SharedMemory, *POINTERS)):
                memoryview(obj).release()
        except ValueError:  # a closed mapping
            pass
        except TypeError:
            wanted = (
                "give an array, a memoryview, a mapping, SharedMemory, bytes or a ctypes object"
            )
            raise TypeError(
                f"{name} is a {type(obj).__name__}, which shows no bytes: {wanted}"
            ) from None
        while id(obj) not in objects:
            objects[id(obj)] = obj
            link = link_of(obj)
            boxes[id(obj)] = _box(obj, link)
            if link is None:
                break
            links[id(obj)] = link
            obj = link.to
        boxes[id(named[name])].names.append(name)
    for at, link in links.items():
        # numpy holds an export only through a memoryview; over anything else, `.base` is just a
        # reference.
        counts = isinstance(link.to, tuple(COUNTING)) and exports(link.to) is not None
        tie = "not counted" if isinstance(objects[at], np.ndarray) and counts else "kept"
        _tie(boxes[at], boxes[id(link.to)], link.attribute, tie)
    for box in boxes.values():
        if box.pointer and box.span and box.to is None:
            roots = (other for other in boxes.values() if other.to is None and other is not box)
            if owner := next((root for root in roots if _within(box, root)), None):
                _tie(box, owner, "address", "not kept")
    for box in boxes.values():
        *views, root = box.way()
        if any(view.tie == "not counted" for view in views) and not _within(box, root):
            box.gone = "its bytes are gone"
    return list(boxes.values())


def _box(obj: Any, link: Link | None) -> Box:
    kind = type(obj).__name__
    if isinstance(obj, POINTERS):
        address = address_of(obj)
        role = "a pointer" if address else "a pointer to nowhere"
        return Box(kind, role, (address, 1) if address else None, pointer=True)
    if isinstance(obj, SharedMemory):
        return Box(
            kind,
            f"a block of {in_words(obj.size, 'bytes')}",
            None,
            gone="closed" if obj.buf is None else "",
        )
    try:
        nbytes = obj.nbytes if isinstance(obj, np.ndarray) else memoryview(obj).nbytes
        span = extent(obj) if nbytes else None
    except TypeError:  # no buffer: as_strided's, or a capsule
        return Box(kind, "lends its bytes", None)
    except ValueError:
        ended = "released" if isinstance(obj, memoryview) else "closed"
        return Box(
            kind,
            "a view" if isinstance(obj, memoryview) else "a mapping",
            None,
            count=exports(obj),
            gone=ended,
        )
    size = in_words(nbytes, "bytes")
    if link:
        return Box(kind, f"a view of {size}", span)
    role = f"a mapping of {size}" if isinstance(obj, mmap.mmap) else f"owns its {size}"
    if (isinstance(obj, np.ndarray) and not obj.flags.owndata) or isinstance(obj, memoryview):
        role = f"a view of {size} that no object owns"
    box = Box(kind, role, span, count=exports(obj))
    if span:
        lies = of_buffer(obj)
        box.memory = lies.memory
        box.file = "" if lies.path is None else f"{lies.memory} {lies.file}"
    return box


def _tie(box: Box, to: Box, attribute: str, tie: Tie) -> None:
    if box not in to.way():  # a ctypes structure may point to itself
        box.to = to
        box.attribute = attribute
        box.tie = tie
        to.viewers.append(box)


def _within(box: Box, owner: Box) -> bool:
    if box.span is None or owner.span is None:
        return box.span is None
    return owner.span[0] <= box.span[0] and sum(box.span) <= sum(owner.span)


def _drawn(boxes: list[Box]) -> Figure:
    """A row for each object that nothing leads to, with its way to the owner: named objects in the
    first column, owners in the last, files below them.
    """
    columns = max(len(list(box.way())) for box in boxes)
    cells = {}
    for box in boxes:
        memory = MEMORY.get(box.memory, UNKNOWN) if box.memory else None
        cells[box] = show.Box(_lines(box), memory, edge=WARNING if box.gone else INK)
    rows = []
    arrows = []
    for root in (box for box in boxes if box.to is None):
        for source in root.sources():
            first, *others = [cells[box] for box in source.way()]
            alone = [None] * (columns - 1 - len(others))
            rows.append(Row("", [first, *alone, *others] if others else [*alone, first]))
        if root.file:
            file = show.Box([(root.file, PLAIN)], ABSENT, 0, align="center")
            arrows.append(show.Arrow(cells[root], file, "maps"))
            rows.append(Row("", [*[None] * (columns - 1), file]))
    for box in boxes:
        if box.to:
            below = "" if box.tie == "kept" else box.tie
            arrows.append(
                show.Arrow(cells[box], cells[box.to], box.attribute, below, *LINES[box.tie])
            )
    keys = []
    for tie, (color, line) in LINES.items():
        if any(box.to and box.tie == tie for box in boxes):
            style = {"color": color, "linestyle": line, "linewidth": 1.3}
            keys.append(Line2D([], [], label=MEANING[tie], **style))
    memories = [MEMORY.get(box.memory, UNKNOWN) for box in boxes if box.memory]
    keys += [key(kind) for kind in dict.fromkeys(memories)]
    beside = [box for box in boxes if box.viewers or len(list(box.way())) == columns]
    words = [width(word) for box in beside for word in (box.attribute, box.tie) if word != "kept"]
    gap = max([{2: 110, 3: 84}.get(columns, 40), *(12 + word for word in words)])
    return layout(rows, keys=keys, arrows=arrows, gap=gap, between=20, widest=WIDEST)


def _lines(box: Box) -> list[Line]:
    """What a box says."""
    return [
        (", ".join(box.names) or box.kind, BOLD),
        (f"{box.kind}, {box.role}" if box.names else box.role, PLAIN),
        (f"{'to ' * box.pointer}{box.span[0]:#x}" if box.span else "", SMALL),
        (_exports(box.count), PLAIN),
        (box.gone, WARN | BOLD),
    ]


def _exports(count: int | None) -> str:
    return "" if count is None else f"{count:,} export{'' if count == 1 else 's'}"


def _alt(boxes: list[Box]) -> str:
    """One sentence for each object that nothing else leads to: its way to the owner."""
    arrows = {"kept": "->", "not counted": "-> (not counted)", "not kept": "-> (an address)"}
    sentences: list[str] = []
    named: set[Box] = set()
    for source in (box for box in boxes if not box.viewers):
        words = f"{', '.join(source.names)}: {source.kind}, {source.role}"
        words += _more(source) if source.to is None else f" ({source.gone})" * bool(source.gone)
        for box, under in pairwise(source.way()):
            names = ", ".join(under.names)
            if under in named:  # an owner's size and exports only the first time
                words += f" {arrows[box.tie]} the same {names or under.kind}"
                continue
            named.add(under)
            size = (
                f" of {in_words(under.span[1], 'bytes')}" if under.span and under.to is None else ""
            )
            words += (
                f" {arrows[box.tie]} "
                f"{f'{names}: ' if names else ''}{under.kind}{size}{_more(under)}"
            )
        sentences.append(f"{words}.")
    return f"What keeps what alive, from view to owner. {' '.join(sentences)}"


def _more(box: Box) -> str:
    notes = ", ".join(filter(None, (_exports(box.count), box.gone)))
    return f" ({notes})" * bool(notes) + f" -> {box.file}" * bool(box.file)


def exports(owner: Any) -> int | None:
    """How many buffers of `owner` are lent. While any is, a bytearray can't grow and an mmap can't
    close. A memoryview and its slices share a buffer and count as one export; each np.frombuffer is
    an export of its own.

    The count is a field that Python doesn't show: `ob_exports` of PyByteArrayObject (CPython,
    Include/cpython/bytearrayobject.h), `exports` of mmap_object (Modules/mmapmodule.c). None if it
    can't be known: for other objects (bytes never moves, so it keeps no count), and on other
    implementations of Python.
    """
    kind = next((kind for kind in COUNTING if isinstance(owner, kind)), None)
    offset = _offset(kind) if kind else None
    return None if offset is None else ctypes.c_ssize_t.from_address(id(owner) + offset).value


@cache
def _offset(kind: type) -> int | None:
    """Bytes from the start of a `kind` to its count: the only word that reads 0, 1, 2, 0 as views
    come and go. None if no word does, or several do: then a guess could read anything.
    """
    if sys.implementation.name != "cpython":  # elsewhere id() is no address
        return None
    # Skip the head that all objects have: a view is a reference too, and its count there would pass
    # for exports.
    offsets = range(object.__basicsize__, kind.__basicsize__ - WORD_SIZE + 1, WORD_SIZE)
    owner = COUNTING[kind]()
    readings = []
    for lent in (0, 1, 2, 0):
        views = [memoryview(owner) for _ in range(lent)]  # noqa: F841  the earlier ones go
        readings.append(
            [ctypes.c_ssize_t.from_address(id(owner) + offset).value for offset in offsets]
        )
    counts = [
        offset
        for offset, word in zip(offsets, zip(*readings, strict=True), strict=True)
        if word == (0, 1, 2, 0)
    ]
    return counts[0] if len(counts) == 1 else None
