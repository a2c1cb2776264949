"""Which function does `backend.infer(x)` run, and when is that decided?

static   When the caller is compiled. Rust compiles `fn serve<B: Backend>(b: &B)` once for each B
         you call it with. The call goes to a fixed address, or is inlined and isn't a call at all.
         One B per call site.
dynamic  When the call runs, through a pointer. `&dyn Backend` is two words: the address of the
         value, and the address of its type's table. The compiler knows the offset of `infer` in the
         table, but not which table it'll be. The type is gone from the pointer (type erasure), so
         backends of any type fit into one list.
Python   When the call runs, by name. Python looks up "infer" in the dictionaries of the instance,
         its type and its base classes. CPython 3.11 and later remember the answer at the call site
         for as long as the type stays the same (PEP 659). Every call is dynamic, and you find out
         whether a backend has `infer` by calling it.

The two words and the table, in bytes, are in `vtable.py`: read it next.
"""

import math
import mmap
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """The trait: anything with this method is a backend, whether it knows this class or not."""

    def infer(self, x: Any) -> Any: ...


class Positive:
    def infer(self, x: Any) -> Any:
        return +x


class Negative:
    def infer(self, x: Any) -> Any:
        return -x


class CopiedWeights:
    """Weights copied into anonymous memory. Raises what `checked` raises."""

    def __init__(self, path: str | os.PathLike, shape: tuple[int, ...], dtype: Any = "f4"):
        self.weights = np.fromfile(checked(path, shape, dtype), dtype).reshape(shape)

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.weights @ x


class MappedWeights:
    """The same weights as a read-only view of the file, which stays mapped as long as the view
    lives.
    """

    def __init__(self, path: str | os.PathLike, shape: tuple[int, ...], dtype: Any = "f4"):
        with open(checked(path, shape, dtype), "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.weights = np.frombuffer(mapping, dtype).reshape(shape)

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.weights @ x


def checked(path: str | os.PathLike, shape: tuple[int, ...], dtype: Any) -> Path:
    """`path`, if the file's size fits the array. ValueError if it doesn't or is 0;
    FileNotFoundError.
    """
    size = os.path.getsize(path)
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if not size:
        raise ValueError(f"{path} holds 0 bytes: no weights, and nothing to map")
    if size != wanted:
        needed = f"weights {shape} of {np.dtype(dtype)} take {wanted:,}"
        raise ValueError(
            f"{path} holds {size:,} bytes; {needed}: pass the shape and dtype it was written with"
        )
    return Path(path)


class Service:
    """Serves with a list of backends. It knows that each can `infer`, and never asks for a type."""

    def __init__(self, backends: Iterable[Backend]):
        self.backends = list(backends)

    def infer_all(self, x: Any) -> list[Any]:
        """One result per backend, in order."""
        return [backend.infer(x) for backend in self.backends]


def each_by_method(backend: Backend, xs: Iterable[Any]) -> list[Any]:
    """One dispatch per element: by name, through the type."""
    return [backend.infer(x) for x in xs]


def each_by_table(
    table: dict[type, Callable[[Any, Any], Any]], backend: object, xs: Iterable[Any]
) -> list[Any]:
    """One dispatch per element: by type, through a dict such as {Negative: Negative.infer}."""
    return [table[type(backend)](backend, x) for x in xs]


def once_per_array(backend: Backend, xs: np.ndarray) -> np.ndarray:
    """One dispatch for all elements: the loop runs inside numpy, which looks up no names."""
    return backend.infer(xs)
