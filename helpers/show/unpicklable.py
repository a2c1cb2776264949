"""What of a notebook can't be carried to the fresh process in which `%measure` runs, and how to say
so.
"""

import dis
import io
import pickle
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from types import CodeType, FunctionType
from typing import Any

from ..measure.pickling import Pickler, found_by_name
from ..owners import is_a

INSTEAD = "Pass a path, and open or make it in what you measure"


def not_carried(
    function: FunctionType, user: str, seen: frozenset[int] = frozenset()
) -> Iterator[str]:
    """A sentence for each global that can't be pickled and loaded, with the reason and a remedy;
    first what its functions use. cloudpickle says that it "cannot pickle '_io.BufferedReader'", but
    not which of the names holds that.

    user  what the sentence calls the function: "the cell"
    """
    for name, value in globals_of(function):
        file = io.BytesIO()
        buffers = []
        try:
            Pickler(file, buffer_callback=buffers.append).dump(value)
            file.seek(0)
            Loader(file, buffers=buffers).load()
        except Exception as error:
            if is_a(value, FunctionType) and id(value) not in seen:
                yield from not_carried(value, f"`{name}`", seen | {id(value)})
            kind = type(value).__name__
            yield (
                f"`{name}`, a {kind} that {user} uses, can't be carried to a fresh process: "
                f"{error}. {INSTEAD}."
            )


class Loader(pickle.Unpickler):
    """Unpickles as a fresh process does, which has none of the notebook's names."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__":
            raise AttributeError(
                f"its pickle only names `{name}`, which the notebook has and a fresh process hasn't"
            )
        return super().find_class(module, name)


def with_a_cache(function: FunctionType) -> Iterator[str]:
    """A sentence for each function of the notebook that it uses, if that has a cache, and the cache
    isn't empty.
    """
    for name, value in globals_of(function):
        if (
            is_a(value, _lru_cache_wrapper)
            and not found_by_name(value)
            and value.cache_info().currsize
        ):
            yield f"`{name}` has a cache, which was empty there; --warm fills it first."


def globals_of(function: FunctionType) -> list[tuple[str, Any]]:
    names = global_names(function.__code__)
    return [
        (name, function.__globals__[name]) for name in sorted(names & function.__globals__.keys())
    ]


def global_names(code: CodeType) -> set[str]:
    """The global names that this code looks up, and the code of functions and classes in it."""
    names = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return names.union(
        *(global_names(const) for const in code.co_consts if isinstance(const, CodeType))
    )
