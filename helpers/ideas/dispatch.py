"""Which function does `backend.infer(x)` run, and when is that decided?

static   When the caller is compiled. Rust's `fn serve<B: Backend>(b: &B)` is compiled once for each B it is called
         with: the call goes to a fixed address, or is inlined and is no call at all. One B per call site.
dynamic  When the call runs, by a pointer. `&dyn Backend` is two words: where the value lies, and where the table of
         its type lies. The compiler knows the offset of `infer` in the table; which table, it does not know. The type
         is gone from the pointer (type erasure), so that backends of any type fit into one list.
Python   When the call runs, by a name: "infer" is looked up in the dictionaries of the instance, its type and the
         types that this inherits from. CPython 3.11 and later remember the answer at the call site while the type
         stays the same (PEP 659). Every call is dynamic, and that a backend has `infer` shows when it is called.

The two words and the table, in bytes, are in `vtable.py`: read it next.
"""

import math
import mmap
import os
from collections.abc import Callable, Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """The trait: whatever has this method is a backend, whether it knows of this class or not."""

    def infer(self, x: Any) -> Any: ...


class Positive:
    def infer(self, x: Any) -> Any:
        return +x


class Negative:
    def infer(self, x: Any) -> Any:
        return -x


class CopiedWeights:
    """Weights read into memory of its own. FileNotFoundError, ValueError as `checked`."""

    def __init__(self, path: str | os.PathLike, shape: tuple[int, ...], dtype: Any = "f4"):
        self.weights = np.fromfile(checked(path, shape, dtype), dtype).reshape(shape)

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.weights @ x


class MappedWeights:
    """The same weights as a read-only view of the file, mapped while the view is there."""

    def __init__(self, path: str | os.PathLike, shape: tuple[int, ...], dtype: Any = "f4"):
        with open(checked(path, shape, dtype), "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.weights = np.frombuffer(mapping, dtype).reshape(shape)

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.weights @ x


def checked(path: str | os.PathLike, shape: tuple[int, ...], dtype: Any) -> Path:
    """The path of a file that is there and holds exactly such an array; ValueError if its size is another, or 0."""
    size, wanted = os.path.getsize(path), math.prod(shape) * np.dtype(dtype).itemsize
    if not size:
        raise ValueError(f"{path} holds 0 bytes: no weights, and nothing to map")
    if size != wanted:
        asked = f"weights {shape} of {np.dtype(dtype)} are {wanted:,}"
        raise ValueError(f"{path} holds {size:,} bytes; {asked}: give the shape and type that it was written with")
    return Path(path)


class Service:
    """Serves with a list of backends. It knows that each can `infer`, and asks none for its type."""

    def __init__(self, backends: Iterable[Backend]):
        self.backends = list(backends)

    def infer_all(self, x: Any) -> list[Any]:
        """One result a backend, in their order."""
        return [backend.infer(x) for backend in self.backends]


@singledispatch
def describe(backend: object) -> str:
    """Dispatch the other way round: functions by type, kept outside the types, so that anybody can add one."""
    name = type(backend).__name__
    raise TypeError(f"no words for a {name}: add a function that has them, @describe.register for {name}")


@describe.register
def _(backend: Positive) -> str:
    return "gives back what it gets"


@describe.register
def _(backend: Negative) -> str:
    return "turns the sign"


@describe.register
def _(backend: CopiedWeights) -> str:
    return f"weights {backend.weights.shape}, copied into memory of its own"


@describe.register
def _(backend: MappedWeights) -> str:
    return f"weights {backend.weights.shape}, a view of the mapped file"


def each_by_method(backend: Backend, xs: Iterable[Any]) -> list[Any]:
    """A dispatch for each element: by name, through the type."""
    return [backend.infer(x) for x in xs]


def each_by_table(table: dict[type, Callable[[Any, Any], Any]], backend: object, xs: Iterable[Any]) -> list[Any]:
    """A dispatch for each element: by type, through a dict such as {Negative: Negative.infer}."""
    return [table[type(backend)](backend, x) for x in xs]


def once_per_array(backend: Backend, xs: np.ndarray) -> np.ndarray:
    """One dispatch for all elements: the loop over them is inside, in numpy, where no name is looked up."""
    return backend.infer(xs)
