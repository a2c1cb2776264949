"""Plain data: as JSON, read back only if we wrote it; as the sizes that /proc writes."""

import dataclasses
import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np


class Measured:
    """The base of dataclasses that JSON keeps.

    form   what it's called there
    runs   arrays that are kept as runs of equal neighbours, [[value, how often], …]: the field, its
           name there, and what a value is
    apart  fields that aren't kept
    """

    form = ""
    runs = ()
    apart = ()

    def to_json(self) -> dict:
        """Plain data. A path becomes its name, and a value that JSON can't hold its repr."""
        kept = _fields(self)
        for name in self.apart:
            del kept[name]
        for name, short, _ in self.runs:
            values = kept.pop(name)
            kept[short] = values and [[value, len(list(run))] for value, run in groupby(values)]
        return {"format": self.form, "version": 1, **kept}

    @classmethod
    def from_json(cls, plain: Mapping) -> Self:
        """ValueError if that isn't what `to_json` writes."""
        head = {"format": cls.form, "version": 1}
        found = {key: plain.get(key) for key in head} if isinstance(plain, Mapping) else plain
        if found != head:
            raise ValueError(f"not a {cls.form!r} of version 1: {found!r:.80}")
        kept = {name: value for name, value in plain.items() if name not in head}
        try:
            arrays = {
                name: _from_runs(kept.pop(short), kind)
                for name, short, kind in cls.runs
                if short in kept
            }
            return _made(cls, kept, **arrays)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a damaged {cls.form!r} of version 1: {error!r:.80}") from error


def _fields(thing: Any) -> dict[str, Any]:
    return {
        field.name: (json_or_repr if field.type is Any else _plain)(getattr(thing, field.name))
        for field in dataclasses.fields(thing)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Measured):
        return value.to_json()
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return value.name
    return [_plain(one) for one in value] if type(value) is tuple else value


def _made(kind: type, plain: Mapping, **more: Any) -> Any:
    hints = get_type_hints(kind)  # what was kept once, and no longer is, isn't in them
    known = {name: _rebuilt(plain[name], hints[name]) for name in hints.keys() & plain.keys()}
    return kind(**known, **more)


def _rebuilt(plain: Any, kind: Any) -> Any:
    """The inverse of `_plain`, for a field of this kind; of several kinds the first."""
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    if plain is None or kind is Any:
        return plain
    if isinstance(plain, list) and get_origin(kind) in (tuple, list):
        return get_origin(kind)(_rebuilt(one, get_args(kind)[0]) for one in plain)
    if kind is np.ndarray:
        return np.array(plain)
    if hasattr(kind, "_fields"):  # a NamedTuple
        return kind(*map(_rebuilt, plain, get_type_hints(kind).values()))
    if dataclasses.is_dataclass(kind):
        return kind.from_json(plain) if issubclass(kind, Measured) else _made(kind, plain)
    return Path(plain) if kind is Path else plain


def _from_runs(runs: list[list] | None, kind: type) -> np.ndarray | None:
    if runs is None:
        return None
    values = [kind(value) for value, length in runs for _ in range(length)]
    return np.array(values, bool if kind is bool else np.uint8)


def in_json(value: Any) -> str | None:
    """The value as JSON; None if JSON can't hold it."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return None


def json_or_repr(value: Any) -> Any:
    """The value, or its repr if JSON can't hold it."""
    return repr(value) if in_json(value) is None else value


def fields(text: str) -> dict[str, int]:
    """The lines "Name:  123 kB", in bytes: "kB" means 1,024 bytes there, proc_pid_status(5),
    proc_pid_smaps(5).
    """
    lines = (line.split() for line in text.splitlines())
    return {parts[0].rstrip(":"): int(parts[1]) * 1024 for parts in lines if parts[2:] == ["kB"]}
