"""The way from a view to the object that owns its bytes: the one walk that every room takes."""

import ctypes
import mmap
import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer)


class Link(NamedTuple):
    """What an object is a view of, and the attribute that shows it."""

    attribute: str
    to: Any


def way_to_owner(view: Any) -> list[Any]:
    """`view`, what it is a view of, and so on; the last one owns the bytes. Never raises, and ends in a ring too."""
    way, seen = [view], {id(view)}
    while (link := link_of(way[-1])) and id(link.to) not in seen:
        way.append(link.to)
        seen.add(id(link.to))
    return way


def mapping_under(view: Any) -> mmap.mmap | None:
    """The mapping whose bytes `view` shows; None if they are another owner's."""
    return next((one for one in way_to_owner(view) if is_a(one, mmap.mmap)), None)


def is_mapped_at(path: str | os.PathLike, address: int) -> bool | None:
    """Does a mapping of this file span the address? None where proc_pid_maps(5) is not there."""
    if not os.path.exists("/proc/self/maps"):
        return None
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps if line.rstrip("\n").endswith(f" {os.path.realpath(path)}")]
    spans = [[int(end, 16) for end in span.split("-")] for span, *_ in lines]
    return any(begin <= address < end for begin, end in spans)


def link_of(view: Any) -> Link | None:
    """One step of the way; None at the owner, or where nothing is kept: a view that was released, a bare address.

    No code of the view's class runs. A subclass may say what it likes in `base`; numpy's own field is read.
    """
    with suppress(AttributeError, ValueError):  # never made whole; released
        attribute, to = _kept(view)
        return None if to is None else Link(attribute, to)
    return None


def is_a(one: Any, kinds: type | tuple[type, ...]) -> bool:
    """isinstance() without running code of the object's class: a proxy's `__class__` may raise."""
    return issubclass(type(one), kinds)


def own_dict(one: Any) -> dict:
    """Its __dict__, empty if it has none. Not by vars(), which runs code of its class: it loads a lazy module."""
    with suppress(Exception):  # a proxy has a property of that name
        kept = object.__getattribute__(one, "__dict__")
        return kept if is_a(kept, dict) else {}
    return {}


def address_of(pointer: Any) -> int | None:
    """Where a ctypes pointer points. Not by ctypes.cast, which writes into the pointer's `_objects`."""
    return ctypes.c_void_p.from_buffer(pointer).value


def _cdata() -> type:
    """What all ctypes objects are. A function, because the type cannot be pickled, and this module travels by value."""
    return ctypes._SimpleCData.__base__


def _kept(view: Any) -> tuple[str, Any]:
    if is_a(view, np.ndarray):
        return ".base", np.ndarray.base.__get__(view)
    if is_a(view, np.void):  # one record of an array
        return ".base", np.void.base.__get__(view)
    if is_a(view, memoryview):
        return ".obj", view.obj
    if is_a(view, _cdata()):
        return _kept_by_ctypes(view)
    shared = sys.modules.get("multiprocessing.shared_memory")  # if nobody has loaded it, there is none
    if shared and is_a(view, shared.SharedMemory):
        return ".buf", shared.SharedMemory.buf.__get__(view)
    if "__array_interface__" in own_dict(view):  # as_strided and its like put an object of their own between
        return ".base", own_dict(view).get("base")
    return "", None


def _kept_by_ctypes(view: Any) -> tuple[str, Any]:
    """ctypes keeps what the data lie in as `_b_base_`, or among `_objects` (the ctypes manual, "Data types")."""
    if is_a(view, POINTERS) and "_arr" in own_dict(view):  # ndarray.ctypes.data_as keeps the array there
        return "._arr", own_dict(view)["_arr"]
    if (base := _cdata()._b_base_.__get__(view)) is not None:
        return "._b_base_", base
    kept = _cdata()._objects.__get__(view)
    kept = kept.values() if is_a(kept, dict) else ()
    if is_a(view, POINTERS):
        found = (one for one in kept if is_a(one, _cdata()) and ctypes.addressof(one) == address_of(view))
    else:
        found = (one for one in kept if is_a(one, memoryview))
    return "._objects", next(found, None)
