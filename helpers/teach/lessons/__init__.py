"""One module a lesson: EXERCISES and QUIZZES. Found by name, so that a new lesson is a new file."""

import difflib
import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


@cache
def all() -> tuple[ModuleType, ...]:
    """The modules lesson_00, lesson_02, …, in order."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_"))
    return tuple(import_module(f"{__name__}.{name}") for name in names)


def find(key: str, among: Sequence[Any], what: str) -> Any:
    """The one with that `key`; ValueError lists what there is, the nearest first."""
    known = {one.key: one for one in among}
    if key not in known:
        near = difflib.get_close_matches(str(key), known, n=3, cutoff=0.6)
        guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise ValueError(f"no {what} {key!r}; {guess}There are: {', '.join(known)}")
    return known[key]
