"""Which bytes an object shows: the kinds of object that show some, and where their bytes lie. Nothing is imported."""

import mmap
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words

TORCH = ("Tensor",)
ARROW = ("Table", "RecordBatch", "ChunkedArray", "Array", "ListScalar", "DictionaryScalar", "Buffer")
ARROW_PARTS = ("columns", "chunks", "values", "dictionary")


def kinds() -> tuple[type, ...]:
    """The types of such objects, in the libraries that are loaded."""
    return np.ndarray, memoryview, mmap.mmap, *_kinds("torch", TORCH), *_kinds("pyarrow", ARROW)


def addresses(obj: Any) -> Iterator[int]:
    """Of the first bytes of what it shows, and of what it's a view of. None if it shows nothing, or no longer does."""
    return filter(None, chain.from_iterable(map(_begins, way_to_owner(obj))))


def spans(obj: Any) -> list[tuple[int, int]]:
    """The addresses of the bytes that their owner has: a view's owner, each buffer of a table. From, and up to."""
    for step in reversed(way_to_owner(obj)):
        with suppress(Exception):  # it shows no bytes, or not in a row
            if is_a(step, _kinds("pyarrow", ARROW)):
                return [(buffer.address, buffer.address + buffer.size) for buffer in _buffers(step)]
            if is_a(step, _kinds("torch", TORCH)):
                storage = step.untyped_storage()
                return [(storage.data_ptr(), storage.data_ptr() + storage.nbytes())]
            return [byte_bounds(_array(step))]
    return []


def described(obj: Any) -> str:
    """ "ndarray of 4 MiB" """
    name = "mapping" if is_a(obj, mmap.mmap) else type(obj).__name__
    with suppress(Exception):  # it shows no bytes
        return f"{name} of {in_words(_size(obj), 'bytes')}"
    return name


def _kinds(module: str, names: Iterable[str]) -> tuple[type, ...]:
    found = (own_dict(sys.modules.get(module)).get(name) for name in names)
    return tuple(kind for kind in found if is_a(kind, type))


def _begins(obj: Any) -> list[int]:
    with suppress(Exception):  # an array can be a view of anything, and the exporter can be anybody's code
        if is_a(obj, np.ndarray):
            return [np.ndarray.__array_interface__.__get__(obj)["data"][0]]
        if is_a(obj, _kinds("torch", TORCH)):
            return [obj.data_ptr()]
        if is_a(obj, _kinds("pyarrow", ARROW)):
            return [buffer.address for buffer in _buffers(obj)]
        return [_array(obj).ctypes.data]
    return []


def _array(obj: Any) -> np.ndarray:
    return np.ndarray.view(obj, np.ndarray) if is_a(obj, np.ndarray) else np.frombuffer(obj, np.uint8)


def _buffers(obj: Any) -> Iterator[Any]:
    """Of an Arrow table, column, chunk, or a list or category in it; other scalars are copies."""
    if hasattr(obj, "address"):
        yield obj
    elif hasattr(obj, "buffers"):
        yield from filter(None, obj.buffers())
    else:
        parts = next(getattr(obj, name) for name in ARROW_PARTS if hasattr(obj, name))
        for part in parts if isinstance(parts, list) else [parts]:
            yield from _buffers(part)


def _size(obj: Any) -> int:
    if is_a(obj, mmap.mmap):
        return mmap.mmap.__len__(obj)
    kind = next((kind for kind in kinds() if is_a(obj, kind)), None)
    if kind is None:
        return _array(obj).nbytes
    return (getattr(kind, "nbytes", None) or kind.size).__get__(obj)
