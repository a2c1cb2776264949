"""What keeps what alive, as text: a box for each object on the way from a named object to the owner of its bytes."""

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Literal

import numpy as np

from ...measure.pages import extent
from ...measure.whereabouts import where
from ...owners import POINTERS, Link, address_of, link_of
from ...units import in_words
from .exports import COUNTING, exports

Tie = Literal["kept", "not counted", "not kept"]


@dataclass(eq=False)
class Box:
    """An object, as text. A box doesn't keep its object, so the picture keeps nothing alive.

    count  exports that are out; None if the object keeps no count
    gone   why its bytes can no longer be read; "" if they can
    memory, file  where an owner's bytes lie, as `where` says it, and the file below; "" if it owns none
    to, viewers   the boxes on both sides; `attribute` and `tie` describe the arrow to `to`
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
        return [source for viewer in self.viewers for source in viewer.sources()] or [self]


def boxes_of(named: Mapping[str, Any]) -> list[Box]:
    """The boxes of the named objects and all they lead to, tied together. TypeError if an object shows no bytes."""
    objects: dict[int, Any] = {}
    links: dict[int, Link] = {}
    boxes: dict[int, Box] = {}
    for name, obj in named.items():
        if not (isinstance(obj, (memoryview, SharedMemory, *POINTERS)) or _has_buffer(obj)):
            wanted = "give an array, a memoryview, a mapping, SharedMemory, bytes or a ctypes object"
            raise TypeError(f"{name} is a {type(obj).__name__}, which shows no bytes: {wanted}")
        while id(obj) not in objects:
            objects[id(obj)], link = obj, link_of(obj)
            boxes[id(obj)] = _box(obj, link)
            if link is None:
                break
            links[id(obj)] = link
            obj = link.to
        boxes[id(named[name])].names.append(name)
    for at, link in links.items():
        _tie(boxes[at], boxes[id(link.to)], link.attribute, _tie_of(objects[at], link.to))
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


def _tie_of(obj: Any, to: Any) -> Tie:
    """numpy holds an export only through a memoryview; over anything else, `.base` is just a reference."""
    counts = isinstance(to, tuple(COUNTING)) and exports(to) is not None
    return "not counted" if isinstance(obj, np.ndarray) and counts else "kept"


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    except ValueError:  # a closed mapping, a released view
        pass
    return True


def _box(obj: Any, link: Link | None) -> Box:
    kind = type(obj).__name__
    if isinstance(obj, POINTERS):
        address = address_of(obj)
        role = "a pointer" if address else "a pointer to nowhere"
        return Box(kind, role, (address, 1) if address else None, pointer=True)
    if isinstance(obj, SharedMemory):
        return Box(kind, f"a block of {in_words(obj.size, 'bytes')}", None, gone="closed" if obj.buf is None else "")
    try:
        nbytes = obj.nbytes if isinstance(obj, np.ndarray) else memoryview(obj).nbytes
        span = extent(obj) if nbytes else None
    except TypeError:  # no buffer: as_strided's, or a capsule
        return Box(kind, "lends its bytes", None)
    except ValueError:
        ended = "released" if isinstance(obj, memoryview) else "closed"
        return Box(kind, "a view" if isinstance(obj, memoryview) else "a mapping", None, count=exports(obj), gone=ended)
    size = in_words(nbytes, "bytes")
    if link:
        return Box(kind, f"a view of {size}", span)
    role = f"a mapping of {size}" if isinstance(obj, mmap.mmap) else f"owns its {size}"
    if (isinstance(obj, np.ndarray) and not obj.flags.owndata) or isinstance(obj, memoryview):
        role = f"a view of {size} that no object owns"
    return Box(kind, role, span, count=exports(obj), **_below(obj, span))


def _below(owner: Any, span: tuple[int, int] | None) -> dict[str, Any]:
    """Where its bytes lie, and the file below if there is one."""
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
