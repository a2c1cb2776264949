"""The way from a view to the object that owns its bytes. Every room of the package walks it with
this code.
"""

import ctypes
import mmap
import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer)


class Link(NamedTuple):
    """The object that a view looks at, and the attribute that leads there."""

    attribute: str
    to: Any


def way_to_owner(view: Any) -> list[Any]:
    """`view`, the object it's a view of, and so on to the owner of the bytes. Never raises, and
    survives cycles.
    """
    way = [view]
    seen = {id(view)}
    while (link := link_of(way[-1])) and id(link.to) not in seen:
        way.append(link.to)
        seen.add(id(link.to))
    return way


def mapping_under(view: Any) -> mmap.mmap | None:
    """The mapping whose bytes `view` shows; None if the bytes are another owner's."""
    return next((step for step in way_to_owner(view) if is_a(step, mmap.mmap)), None)


def is_mapped_at(path: str | os.PathLike, address: int) -> bool | None:
    """Does a mapping of this file span the address? None on systems without proc_pid_maps(5)."""
    if not os.path.exists("/proc/self/maps"):
        return None
    with open("/proc/self/maps") as maps:
        lines = [
            line.split()
            for line in maps
            if line.rstrip("\n").endswith(f" {os.path.realpath(path)}")
        ]
    spans = [[int(end, 16) for end in span.split("-")] for span, *_ in lines]
    return any(begin <= address < end for begin, end in spans)


def link_of(view: Any) -> Link | None:
    """One step of the way; None at the owner, or if the view keeps nothing: it was released, or is
    a bare address. Runs no code of the view's class. A subclass may return anything from `base`, so
    this reads numpy's own field.
    """
    try:
        attribute, to = _kept(view)
    except (AttributeError, ValueError):  # half-initialised; released
        return None
    return None if to is None else Link(attribute, to)


def is_a(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """isinstance() without running code of the value's class: a proxy's `__class__` may raise."""
    return issubclass(type(value), kinds)


def own_dict(value: Any) -> dict:
    """The value's __dict__, or {}. Not through vars(), which runs code of its class and would load
    a lazy module.
    """
    with suppress(Exception):  # a proxy may have a property of that name
        space = object.__getattribute__(value, "__dict__")
        return space if is_a(space, dict) else {}
    return {}


def address_of(pointer: Any) -> int | None:
    """Where a ctypes pointer points. Not through ctypes.cast, which writes into the pointer's
    `_objects`.
    """
    return ctypes.c_void_p.from_buffer(pointer).value


def _cdata() -> type:
    """The base of all ctypes types. A function, because the type can't be pickled, and this module
    travels by value.
    """
    return ctypes._SimpleCData.__base__


def _kept(view: Any) -> tuple[str, Any]:
    for kind in (np.ndarray, np.void):  # an array, or a record of one
        if is_a(view, kind):
            return ".base", kind.base.__get__(view)
    if is_a(view, memoryview):
        return ".obj", view.obj
    if is_a(view, _cdata()):
        return _kept_by_ctypes(view)
    shared = sys.modules.get("multiprocessing.shared_memory")  # not imported: no such object exists
    if shared and is_a(view, shared.SharedMemory):
        return ".buf", shared.SharedMemory.buf.__get__(view)
    # as_strided and the like put their own object in between
    if "__array_interface__" in own_dict(view):
        return ".base", own_dict(view).get("base")
    return "", None


def _kept_by_ctypes(view: Any) -> tuple[str, Any]:
    """ctypes keeps the object with the data as `_b_base_`, or in `_objects` (the ctypes manual,
    "Data types").
    """
    # ndarray.ctypes.data_as keeps the array there
    if is_a(view, POINTERS) and "_arr" in own_dict(view):
        return "._arr", own_dict(view)["_arr"]
    if (base := _cdata()._b_base_.__get__(view)) is not None:
        return "._b_base_", base
    objects = _cdata()._objects.__get__(view)
    objects = objects.values() if is_a(objects, dict) else ()
    if is_a(view, POINTERS):
        owners = (
            value
            for value in objects
            if is_a(value, _cdata()) and ctypes.addressof(value) == address_of(view)
        )
    else:
        owners = (value for value in objects if is_a(value, memoryview))
    return "._objects", next(owners, None)
