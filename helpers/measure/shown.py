"""Which bytes an object shows: the kinds of object that show some, and where their bytes lie. Nothing is imported."""

import mmap
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..owners import is_a, own_dict
from ..units import in_words

TORCH = ("torch", "Tensor")
ARROW = ("pyarrow", "Table", "RecordBatch", "ChunkedArray", "Array", "ListScalar", "DictionaryScalar", "Buffer")
ARROW_PARTS = ("columns", "chunks", "values", "dictionary")


def loaded(module: str, *names: str) -> tuple[type, ...]:
    """The types of these names, if the module is loaded."""
    return tuple(kind for kind in map(own_dict(sys.modules.get(module)).get, names) if is_a(kind, type))


def kinds() -> tuple[type, ...]:
    return np.ndarray, memoryview, mmap.mmap, *loaded(*TORCH), *loaded(*ARROW)


def spans(obj: Any) -> list[tuple[int, int]]:
    """The addresses of its bytes, from and up to: of a tensor those of its storage, of a table those of each buffer."""
    with suppress(Exception):  # it shows none, no longer, or not in a row; what lends them can be anybody's code
        if is_a(obj, loaded(*ARROW)):
            return [(buffer.address, buffer.address + buffer.size) for buffer in _buffers(obj)]
        if is_a(obj, loaded(*TORCH)):
            storage = obj.untyped_storage()
            return [(storage.data_ptr(), storage.data_ptr() + storage.nbytes())]
        plain = np.ndarray.view(obj, np.ndarray) if is_a(obj, np.ndarray) else np.frombuffer(obj, np.uint8)
        return [byte_bounds(plain)]
    return []


def described(obj: Any) -> str:
    """ "ndarray of 4 MiB" """
    name = "mapping" if is_a(obj, mmap.mmap) else type(obj).__name__
    with suppress(Exception):  # it shows no bytes
        if is_a(obj, np.ndarray):
            size = np.ndarray.nbytes.__get__(obj)
        elif is_a(obj, (*loaded(*TORCH), *loaded(*ARROW))):
            size = obj.nbytes if hasattr(obj, "nbytes") else obj.size
        else:
            size = memoryview(obj).nbytes
        return f"{name} of {in_words(size, 'bytes')}"
    return name


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
