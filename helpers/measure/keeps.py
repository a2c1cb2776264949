"""What keeps what alive, in words: a box for each object on the way from the named ones to the owners of the bytes."""

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Literal

import numpy as np

from ..owners import POINTERS, Link, address_of, link_of
from ..units import in_words
from .exports import COUNTING, exports
from .pages import extent
from .whereabouts import where

Tie = Literal["kept", "not counted", "not kept"]


@dataclass(eq=False)
class Box:
    """One object in words. The object itself is not kept: the picture keeps nothing alive.

    count  exports that are out; None where it keeps no count
    gone   that its bytes can no longer be read, and why
    memory, file  where an owner's bytes lie, as `where` says it, and the file below; "" of what owns none
    to, viewers   the boxes on both sides; `attribute` and `tie` are of the arrow to `to`
    """

    kind: str
    role: str
    span: tuple[int, int] | None  # address and bytes; None where there is nothing to read
    names: list[str] = field(default_factory=list)
    count: int | None = None
    gone: str = ""
    memory: str = ""
    file: str = ""
    attribute: str = ""
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
        return [source for one in self.viewers for source in one.sources()] or [self]


def boxes_of(named: Mapping[str, Any]) -> list[Box]:
    """The boxes of the named objects and of all that they lead to, tied to each other. TypeError: shows no bytes."""
    objects: dict[int, Any] = {}
    links: dict[int, Link] = {}
    boxes: dict[int, Box] = {}
    for name, one in named.items():
        if not (isinstance(one, (memoryview, SharedMemory, *POINTERS)) or _has_buffer(one)):
            wanted = "give an array, a memoryview, a mapping, SharedMemory, bytes or a ctypes object"
            raise TypeError(f"{name} is a {type(one).__name__}, which shows no bytes: {wanted}")
        while id(one) not in objects:
            objects[id(one)], link = one, link_of(one)
            boxes[id(one)] = _box(one, link)
            if link is None:
                break
            links[id(one)] = link
            one = link.to
        boxes[id(named[name])].names.append(name)
    for at, link in links.items():
        _tie(boxes[at], boxes[id(link.to)], link.attribute, _tie_of(objects[at], link.to))
    for box in boxes.values():
        if box.pointer and box.span and box.to is None:
            there = (other for other in boxes.values() if other.to is None and other is not box and _within(box, other))
            if found := next(there, None):
                _tie(box, found, "address", "not kept")
    for box in boxes.values():
        *views, root = box.way()
        if any(one.tie == "not counted" for one in views) and not _within(box, root):
            box.gone = "its bytes are gone"
    return list(boxes.values())


def _tie_of(one: Any, to: Any) -> Tie:
    """numpy holds an export only through a memoryview; over anything else `.base` is a reference and no more."""
    counts = isinstance(to, tuple(COUNTING)) and exports(to) is not None
    return "not counted" if isinstance(one, np.ndarray) and counts else "kept"


def _has_buffer(one: Any) -> bool:
    try:
        memoryview(one).release()
    except TypeError:
        return False
    except ValueError:  # a closed mapping, a released view
        pass
    return True


def _box(one: Any, link: Link | None) -> Box:
    kind = type(one).__name__
    if isinstance(one, POINTERS):
        address = address_of(one)
        role = "a pointer" if address else "a pointer to nowhere"
        return Box(kind, role, (address, 1) if address else None, pointer=True)
    if isinstance(one, SharedMemory):
        return Box(kind, f"a block of {in_words(one.size, 'bytes')}", None, gone="closed" if one.buf is None else "")
    try:
        size = one.nbytes if isinstance(one, np.ndarray) else memoryview(one).nbytes
        span = extent(one) if size else None
    except TypeError:  # no buffer: as_strided's, or a capsule
        return Box(kind, "lends its bytes", None)
    except ValueError:
        ended = "released" if isinstance(one, memoryview) else "closed"
        return Box(kind, "a view" if isinstance(one, memoryview) else "a mapping", None, count=exports(one), gone=ended)
    words = in_words(size, "bytes")
    if link:
        return Box(kind, f"a view of {words}", span)
    role = f"a mapping of {words}" if isinstance(one, mmap.mmap) else f"owns its {words}"
    if (isinstance(one, np.ndarray) and not one.flags.owndata) or isinstance(one, memoryview):
        role = f"a view of {words} that no object owns"
    return Box(kind, role, span, count=exports(one), **_below(one, span))


def _below(owner: Any, span: tuple[int, int] | None) -> dict[str, Any]:
    """Where its bytes lie, and the file below where there is one."""
    if span is None:
        return {}
    lies = where(owner)
    file = ""
    if lies.path is not None:
        gone = ", deleted" if lies.region and lies.region.deleted else ""
        file = f"{lies.memory} {lies.path.name}{gone}"
    return {"memory": lies.memory, "file": file}


def _tie(box: Box, to: Box, attribute: str, tie: Tie) -> None:
    if box not in to.way():  # a ctypes structure may point to itself
        box.to, box.attribute, box.tie = to, attribute, tie
        to.viewers.append(box)


def _within(box: Box, owner: Box) -> bool:
    if box.span is None or owner.span is None:
        return box.span is None
    return owner.span[0] <= box.span[0] and sum(box.span) <= sum(owner.span)
