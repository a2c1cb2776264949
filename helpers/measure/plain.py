"""Plain data: as JSON, read back only if we wrote it; as runs of equal neighbours; as the sizes
that /proc writes.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import numpy as np


@contextmanager
def reading(plain: Mapping, form: str, version: int) -> Iterator[None]:
    """Goes around rebuilding an object from `plain`: ValueError if that isn't what this format
    writes.
    """
    head = (
        {key: plain.get(key) for key in ("format", "version")}
        if isinstance(plain, Mapping)
        else plain
    )
    if head != {"format": form, "version": version}:
        raise ValueError(f"not a {form!r} of version {version}: {head!r:.80}")
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a damaged {form!r} of version {version}: {error!r:.80}") from error


def in_json(value: Any) -> str | None:
    """The value as JSON; None if JSON can't hold it."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return None


def json_or_repr(value: Any) -> Any:
    """The value, or its repr if JSON can't hold it."""
    return repr(value) if in_json(value) is None else value


def run_lengths(values: np.ndarray | None) -> list[list] | None:
    """[[value, how often], …] for (n,) values."""
    return (
        None
        if values is None
        else [[value, len(list(run))] for value, run in groupby(values.tolist())]
    )


def from_run_lengths(plain: list[list] | None, kind: type, dtype: type) -> np.ndarray | None:
    """The inverse of `run_lengths`, (n,) of this dtype; ValueError for a value that `kind` doesn't
    have.
    """
    return (
        None
        if plain is None
        else np.repeat(np.array([kind(v) for v, _ in plain], dtype), [n for _, n in plain])
    )


def fields(text: str) -> dict[str, int]:
    """The lines "Name:  123 kB", in bytes: "kB" means 1,024 bytes there, proc_pid_status(5),
    proc_pid_smaps(5).
    """
    lines = (line.split() for line in text.splitlines())
    return {parts[0].rstrip(":"): int(parts[1]) * 1024 for parts in lines if parts[2:] == ["kB"]}
