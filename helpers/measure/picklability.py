"""What a function uses that can't be carried to a fresh process, by name: `not_carried(f)`.

cloudpickle says that it "cannot pickle '_io.BufferedReader'", but not which of the names holds that. And two things it
carries without a word, as something else: a mapped file arrives as a copy in memory, an open text file as its text.
"""

import dis
import io
from collections.abc import Iterator
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np

from ..owners import is_a, mapping_under
from .whereabouts import where

MAPPED = "it shows a mapped file, and what arrived there would be a copy in memory of its own"
OPEN = "it is an open file, and what arrived there would be a copy of its text"
INSTEAD = "Pass a path, and open or make it in what you measure"


def not_carried(function: FunctionType, user: str, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """A sentence for each global that can't be pickled, with the reason and a remedy; first what its functions use.

    user  what the sentence calls the function: "the cell"
    """
    for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        try:
            _Trial().dump(value)
        except Exception as error:
            if is_a(value, FunctionType) and id(value) not in seen:
                yield from not_carried(value, f"`{name}`", seen | {id(value)})
            kind = type(value).__name__
            yield f"`{name}`, a {kind} that {user} uses, can't be carried to a fresh process: {error}. {INSTEAD}."


def global_names(code: CodeType) -> set[str]:
    """The global names that this code looks up, and the code of functions and classes in it."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(global_names(const) for const in code.co_consts if isinstance(const, CodeType)))


class _Trial(cloudpickle.Pickler):
    def __init__(self):
        super().__init__(SimpleNamespace(write=len), protocol=5, buffer_callback=lambda _: None)

    def persistent_id(self, value: Any) -> None:
        if is_a(value, (np.ndarray, memoryview)) and mapping_under(value) is not None:
            raise TypeError(MAPPED)
        kind = type(value)  # only the address tells whether a buffer of pyarrow's lies in a mapped file
        if (kind.__module__, kind.__name__) == ("pyarrow.lib", "Buffer") and where(memoryview(value)).memory == "file":
            raise TypeError(MAPPED)
        if is_a(value, io.TextIOWrapper):
            raise TypeError(OPEN)
