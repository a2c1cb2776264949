"""`while_mapped()`: what this system lets you do to a file while somebody has it mapped, and what the mapping shows
afterwards. Windows gives a different table: there a mapping protects its file, and stands in its way. macOS, by the
rules of POSIX, gives the same table as Linux."""

import json
import mmap
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ... import folders
from ...measure.machine import Machine, here
from ...measure.plain import reading
from ...measure.recording import Recording
from ...measure.run import measure
from ...measure.tables import NONE, html_table, text_table

FORMAT, VERSION = "zero-copy allowed while mapped", 1
DOCUMENTS = folders.DATA / "while_mapped.toml"
RECORDED = "10-windows.json"  # in data/recorded, written by `python -m helpers.lessons.hazards.record_windows`
PAGES = 3
OLD, NEW = b"o", b"n"


def _other(path: str) -> str:
    """Makes another file beside it, of new bytes."""
    other = path + ".new"
    Path(other).write_bytes(NEW * PAGES * mmap.PAGESIZE)
    return other


def _overwrite(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(NEW * PAGES * mmap.PAGESIZE)


def _extend(path: str) -> None:
    with open(path, "ab") as file:
        file.write(NEW * mmap.PAGESIZE)


def _cut(path: str) -> None:
    """Through the file, because os.truncate(path) hides Windows' refusal."""
    with open(path, "r+b") as file:
        file.truncate(mmap.PAGESIZE)


OPERATIONS: Mapping[str, Callable[[str], Any]] = {
    "delete it": os.remove,
    "rename another file over it": lambda path: os.replace(_other(path), path),
    "rename it": lambda path: os.rename(path, path + ".old"),
    "overwrite it in place": _overwrite,
    "append to it": _extend,
    "make it shorter": _cut,
    'open it with "wb"': lambda path: open(path, "wb").close(),
    "delete it, once the mapping is closed": os.remove,
}
CLOSED = "delete it, once the mapping is closed"


@dataclass(frozen=True)
class Trial:
    """An operation on a mapped file.

    allowed  None where the documentation doesn't say
    error    why it was refused: "PermissionError 13", with Windows' own number "PermissionError 13, WinError 32"
    shows    what the view shows then: "old bytes", "new bytes", "zeros", or the signal that kills a reader; "" if there
             is no view any more
    source   if it was not measured: where it is documented
    """

    operation: str
    allowed: bool | None
    error: str = ""
    shows: str = ""
    source: str = ""

    @property
    def answer(self) -> str:
        """ "allowed", or "refused" with the error."""
        if self.allowed is None:
            return "not documented"
        return "allowed" if self.allowed else f"refused{': ' * bool(self.error)}{self.error}"


@cache
def documented(system: str) -> tuple[Trial, ...]:
    """What the documents say about "windows" or "macos": data/while_mapped.toml."""
    tables = tomllib.loads(DOCUMENTS.read_text(encoding="utf-8"))
    sources = {"": "", **tables["sources"]}
    return tuple(
        Trial(name, row.get("allowed"), row.get("error", ""), row.get("shows", ""), sources[row.get("source", "")])
        for name, row in tables[system].items()
    )


@dataclass(frozen=True)
class Allowed:
    """What a system allows: `allowed["delete it"]`. `windows`: what Windows allows, if this is another system."""

    trials: tuple[Trial, ...]
    machine: Machine
    windows: "Allowed | None" = None

    def __getitem__(self, operation: str) -> Trial:
        """KeyError if `operation` is none of the operations."""
        for trial in self.trials:
            if trial.operation == operation:
                return trial
        raise KeyError(f"no operation {operation!r}; there are: {', '.join(trial.operation for trial in self.trials)}")

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows, as text: a row per operation."""
        header = ["while a view is out", f"{self.machine.system.split()[0]}, measured here", "the view shows"]
        rows = [[trial.operation, trial.answer, trial.shows or NONE] for trial in self]
        if not _is_windows(self.machine):
            header += ["Windows, recorded" if self.windows else "Windows, not measured", "the view shows"]
            trials = {trial.operation: trial for trial in self.windows or documented("windows")}
            for row in rows:
                trial = trials.get(row[0], Trial(row[0], None))
                row += [trial.answer, trial.shows or NONE]
        if not _is_macos(self.machine):
            header.append("macOS, not measured")
            trials = {trial.operation: trial for trial in documented("macos")}
            for row in rows:
                row.append(", ".join(filter(None, (trials[row[0]].answer, trials[row[0]].shows))))
        return tuple(header), [tuple(row) for row in rows]

    @property
    def notes(self) -> list[str]:
        """Where the columns come from: machines, or documents."""
        notes = []
        if self.windows:
            notes.append(f"Windows, recorded on: {self.windows.machine}")
        elif not _is_windows(self.machine):
            notes += _sources("Windows, not measured here: from its documentation", documented("windows"))
        if not _is_macos(self.machine):
            notes += _sources("macOS, not measured here: from the standard that it follows", documented("macos"))
        return notes

    def __repr__(self) -> str:
        return "\n".join([text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = html_table("What you may do to a file while it is mapped", *self.table())
        return table + (f"<ul>{notes}</ul>" if notes else "")

    def to_json(self) -> dict:
        """Plain data, without `windows`, which is another machine's."""
        trials = [asdict(trial) for trial in self]
        return {"format": FORMAT, "version": VERSION, "machine": asdict(self.machine), "trials": trials}

    @classmethod
    def from_json(cls, plain: Mapping) -> "Allowed":
        """The inverse of `to_json`; ValueError for anything that `to_json` didn't write."""
        with reading(plain, FORMAT, VERSION):
            return cls(tuple(Trial(**trial) for trial in plain["trials"]), Machine(**plain["machine"]))


def while_mapped() -> Allowed:
    """Does each of OPERATIONS to a small file that is mapped read-only with a view out, then looks at the view.

    Each runs in a fresh process, so that SIGBUS is a result. The files are made in `folders.generated()`, and removed.
    The file object is closed, which is fine after mmap(2); Python's mapping keeps a handle of its own.

    On other systems, Windows' answers stand beside: recorded, if somebody has run
    `python -m helpers.lessons.hazards.record_windows` there, else from the documentation, labelled "not measured".
    """
    with tempfile.TemporaryDirectory(prefix="while-mapped-", dir=folders.generated()) as folder:
        machine = here(folder)
        trials = tuple(_tried(name, measure(_try, name, folder)) for name in OPERATIONS)
    path = folders.RECORDED / RECORDED
    windows = None
    if not _is_windows(machine) and path.exists():
        windows = Allowed.from_json(json.loads(path.read_text(encoding="utf-8")))
    return Allowed(trials, machine, windows)


def record() -> Path:
    """On Windows: measures, and keeps the result for everybody else. Returns the file. RuntimeError elsewhere."""
    if sys.platform != "win32":
        raise RuntimeError(f"this records what Windows does, and this is {sys.platform}")
    path = folders.RECORDED / RECORDED
    folders.write_whole(path, json.dumps(while_mapped().to_json(), indent=1) + "\n")
    return path


def _try(name: str, folder: str) -> tuple[str, str]:
    """In the child: the error, and what the view shows. Looking at the view may kill the process."""
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
    return error, {OLD: "old bytes", NEW: "new bytes", b"\0": "zeros"}[ends.pop()] if len(ends) == 1 else "a mixture"


def _tried(name: str, run: Recording) -> Trial:
    if run.ended != "returned":
        if run.ended == "raised":
            raise RuntimeError(f"could not try to {name}: {run.error}")
        return Trial(name, True, "", run.ended)  # only looking at the view can end it that way
    error, shows = run.value
    return Trial(name, not error, error, shows)


def _is_windows(machine: Machine) -> bool:
    return machine.system.startswith("Windows")


def _is_macos(machine: Machine) -> bool:
    return machine.system.startswith("Darwin")


def _sources(title: str, trials: tuple[Trial, ...]) -> list[str]:
    """The title, and which document answers which operations."""
    operations: dict[str, list[str]] = {}
    for trial in trials:
        if trial.source:
            operations.setdefault(trial.source, []).append(trial.operation)
    return [title, *(f"{', '.join(names)}: {source}" for source, names in operations.items())]
