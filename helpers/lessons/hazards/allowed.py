"""`while_mapped()`: what this system lets you do to a file while somebody has it mapped, and what
the mapping shows afterwards. Windows gives a different table: there a mapping protects its file,
and stands in its way. macOS, by the rules of POSIX, gives the same table as Linux.
"""

import mmap
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ... import folders
from ...measure import Machine, here, measure
from ...measure.tables import NONE, html_table, text_table

DOCUMENTS = folders.DATA / "while_mapped.toml"
PAGES = 3
OLD, NEW = b"o", b"n"
CLOSED = "delete it, once the mapping is closed"


def _write(path: str, mode: str, pages: int = PAGES) -> str:
    with open(path, mode) as file:
        file.write(NEW * pages * mmap.PAGESIZE)
    return path


def _cut(path: str) -> None:
    """Through the file, because os.truncate(path) hides Windows' refusal."""
    with open(path, "r+b") as file:
        file.truncate(mmap.PAGESIZE)


OPERATIONS: Mapping[str, Callable[[str], Any]] = {
    "delete it": os.remove,
    "rename another file over it": lambda path: os.replace(_write(path + ".new", "wb"), path),
    "rename it": lambda path: os.rename(path, path + ".old"),
    "overwrite it in place": lambda path: _write(path, "r+b"),
    "append to it": lambda path: _write(path, "ab", pages=1),
    "make it shorter": _cut,
    'empty it, with open(…, "wb")': lambda path: open(path, "wb").close(),
    CLOSED: os.remove,
}


@dataclass(frozen=True)
class Trial:
    """An operation on a mapped file."""

    operation: str
    allowed: bool | None  # None where the documentation doesn't say
    error: str = (
        ""  # why it was refused: "PermissionError 13", on Windows "PermissionError 13, WinError 32"
    )
    # the view, then: "old bytes", "new bytes", "zeros", a signal that kills a reader; "" for no
    # view
    shows: str = ""
    source: str = ""  # if it was not measured: where it is documented

    @property
    def answer(self) -> str:
        if self.allowed is None:
            return "not documented"
        return "allowed" if self.allowed else f"refused{': ' * bool(self.error)}{self.error}"


@cache
def documented(system: str) -> tuple[Trial, ...]:
    """What the documents say about "windows" or "macos": data/while_mapped.toml."""
    tables = tomllib.loads(DOCUMENTS.read_text(encoding="utf-8"))
    sources = {"": "", **tables["sources"]}
    return tuple(
        Trial(
            name,
            row.get("allowed"),
            row.get("error", ""),
            row.get("shows", ""),
            sources[row.get("source", "")],
        )
        for name, row in tables[system].items()
    )


@dataclass(frozen=True)
class Allowed:
    """What a system allows."""

    trials: tuple[Trial, ...]
    machine: Machine

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        header = [
            "while a view is out",
            f"{self.machine.system.split()[0]}, measured here",
            "the view shows",
        ]
        rows = [[trial.operation, trial.answer, trial.shows or NONE] for trial in self]
        if not self.machine.system.startswith("Windows"):
            header += ["Windows, not measured", "the view shows"]
            for row, said in zip(rows, documented("windows"), strict=True):
                row += [said.answer, said.shows or NONE]
        if not self.machine.system.startswith("Darwin"):
            header.append("macOS, not measured")
            for row, said in zip(rows, documented("macos"), strict=True):
                row.append(", ".join(filter(None, (said.answer, said.shows))))
        return tuple(header), [tuple(row) for row in rows]

    @property
    def notes(self) -> list[str]:
        """Where the columns of other systems come from."""
        notes = []
        if not self.machine.system.startswith("Windows"):
            notes += _sources(
                "Windows, not measured here: from its documentation", documented("windows")
            )
        if not self.machine.system.startswith("Darwin"):
            notes += _sources(
                "macOS, not measured here: from the standard that it follows", documented("macos")
            )
        return notes

    def __repr__(self) -> str:
        return "\n".join([text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return (
            html_table("What you may do to a file while it is mapped", *self.table())
            + f"<ul>{notes}</ul>"
        )


def while_mapped() -> Allowed:
    """Does each of OPERATIONS to a small file that is mapped read-only with a view out, then looks
    at the view. Each runs in a fresh process, so that SIGBUS is a result. The file object is
    closed, which is fine after mmap(2); Python's mapping keeps a handle of its own.

    Other systems' answers stand beside, from their documentation, labelled "not measured".
    """
    with tempfile.TemporaryDirectory(prefix="while-mapped-", dir=folders.generated()) as folder:
        machine = here(folder)
        trials = []
        for name in OPERATIONS:
            run = measure(_try, name, folder)
            if run.ended == "raised":
                raise RuntimeError(f"could not try to {name}: {run.error}")
            # Only looking at the view can end it by a signal.
            error, shows = run.value if run.ended == "returned" else ("", run.ended)
            trials.append(Trial(name, not error, error, shows))
    return Allowed(tuple(trials), machine)


def _try(name: str, folder: str) -> tuple[str, str]:
    """In the child: the error, and what the view shows. Looking at the view may kill the
    process.
    """
    path = os.path.join(folder, f"{list(OPERATIONS).index(name)}.bin")
    Path(path).write_bytes(OLD * PAGES * mmap.PAGESIZE)
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    view = memoryview(mapping)
    if name == CLOSED:
        view.release()
        mapping.close()
    error = ""
    try:
        OPERATIONS[name](path)
    except OSError as refused:
        error = f"{type(refused).__name__} {refused.errno}"
        if number := getattr(refused, "winerror", None):
            error += f", WinError {number}"
    if name == CLOSED:
        return error, ""
    ends = {bytes(view[:1]), bytes(view[-1:])}
    return error, (
        {OLD: "old bytes", NEW: "new bytes", b"\0": "zeros"}[ends.pop()]
        if len(ends) == 1
        else "a mixture"
    )


def _sources(title: str, trials: tuple[Trial, ...]) -> list[str]:
    operations: dict[str, list[str]] = {}
    for trial in trials:
        if trial.source:
            operations.setdefault(trial.source, []).append(trial.operation)
    return [title, *(f"{', '.join(names)}: {source}" for source, names in operations.items())]
