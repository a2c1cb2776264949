"""A student's own copies of the lessons: made, and brought up to a new edition without losing what
the student wrote.

make lab                 python -m helpers.teach.work --once       before JupyterLab starts
make fresh LESSON=02     python -m helpers.teach.work --fresh 02   another copy, beside the first

Each copy's metadata has the digest of the lesson that it was made from, and a hidden folder keeps
that lesson. So even a copy from a backup is merged with the text that it was made from.
"""

import argparse
import errno
import json
import os
import re
import sys
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import EllipsisType
from typing import NamedTuple

from ipykernel.ipkernel import IPythonKernel
from jupyter_client.connect import jupyter_runtime_dir

from .. import folders
from ..edition import Edition, edition
from ..safe_files import exclusive, whole_file
from ..units import in_unit
from .exercise_files import checked_in
from .merging import Cell, Merged, merged, note_of, notes, with_notes
from .notebook_files import NoNotebook, Notebook, content, read

# in the student's folder: base/ holds what was handed out, before/ the copies as they were
HIDDEN = ".zero-copy"
EARLIER_COPIES = 3  # of a lesson
STOP_ON_A_HUB = "stop your server (File > Hub Control Panel > Stop My Server)"
CHANGED = (
    "This exercise has changed since this cell ran. Run it again: what is below is from before.\n"
)
KEPT = (
    "> The course has another version of the next cell, or has it no more; yours stays. `{}` puts a"
    " fresh copy of the lesson beside this one. Take over what you like, or delete this note."
)
RUNS_ALREADY = (
    "JupyterLab runs on your copies already. Open it at {}\n"
    "(To start it anew, first end it with Ctrl-C in the terminal that it runs in.)"
)
TIMEOUT_S = 5  # for a running JupyterLab to say what's open


@dataclass(frozen=True)
class Work:
    """A student's folder, the folder of the lessons that it follows, and their edition."""

    folder: Path
    lessons: Path
    edition: Edition
    exercises: Path = folders.EXERCISES

    def bring_up_to_date(self) -> Iterator[str]:
        """Makes missing copies, and merges a new edition into the others. Yields a line for each
        thing done, and for each file that had to stay as it is. OSError if the folder can't be
        written, or the disk is full.
        """
        new: list[Path] = []
        in_use = cache(
            lambda: [path for server in servers(self.folder) for path in server.notebooks]
        )
        yield from self._each(
            folders.lessons(self.lessons), lambda lesson: self._bring(lesson, new, in_use)
        )
        yield from self._changed_exercises(in_use)
        if new:
            yield (
                f"{in_unit(len(new), 'lessons')} copied to {self.folder}: yours, to change as you "
                "like."
            )
        kinds = ("*.md", "*.rs", "*.toml", "crates/*.rs", "crates/*.toml")  # not what cargo leaves
        beside = ("*.md", "own_code/*.ipynb", *(f"rust/{kind}" for kind in kinds))
        yield from self._each(
            sorted(path for files in beside for path in self.lessons.glob(files)), self._follow
        )

    def fresh(self, lesson: Path) -> Path:
        """Another copy of a lesson as it is handed out, under a free name."""
        path = folders.free(self._copy(lesson).with_stem(f"{lesson.stem}-fresh"))
        self._write(lesson, path, None)
        return path

    def _each(self, files: Iterable[Path], bring: Callable[[Path], str]) -> Iterator[str]:
        """What `bring` says about each file, if anything. Trouble with one file doesn't hold up the
        others.
        """
        for file in files:
            try:
                line = bring(file)
            except (NoNotebook, OSError) as error:
                if isinstance(error, OSError):
                    if error.errno == errno.ENOSPC or not os.access(
                        self.folder / HIDDEN, os.W_OK | os.X_OK
                    ):
                        raise
                    name = file.relative_to(self.lessons).as_posix()
                    error = (
                        f"{name} can't be brought up to date: {error.strerror}: {error.filename}"
                    )
                fresh = (
                    f"; `{folders.typed(f'fresh LESSON={file.name[:2]}')}` puts a fresh copy "
                    "beside it"
                )
                line = f"{error}. It stays as it is{fresh if file.parent == self.lessons else ''}."
            if line:
                yield line

    def _bring(self, lesson: Path, new: list[Path], in_use: Callable[[], list[Path]]) -> str:
        """Makes a copy, or brings it up to date. A lesson that never had a copy is noted in
        `new`.
        """
        path = self._copy(lesson)
        was = _now(self._copy(lesson))
        if was is None:
            known = any(self._base(lesson, "").parent.glob(f"{lesson.stem}.*"))
            self._write(lesson, path, was)
            new += [] if known else [lesson]
            return f"{lesson.name} was gone: there is a fresh copy again." if known else ""
        mine = read(path, was)
        theirs = read(lesson)
        if _made_from(mine) == _digest_of(theirs):
            if not all(notes(mine["cells"], theirs["cells"]).values()) and not in_use():
                self._write(lesson, path, was)
            return ""
        if any(path.is_relative_to(used) for used in in_use()):
            stop = (
                STOP_ON_A_HUB
                if "JUPYTERHUB_USER" in os.environ
                else "shut JupyterLab down (File > Shut Down)"
            )
            waits = f"{lesson.name} is open in JupyterLab, so what is new in it waits"
            return f"{waits}. Save your notebooks, {stop} and start it again."
        return self._merge(lesson, path, was)

    def _merge(self, lesson: Path, path: Path, was: bytes) -> str:
        """Merges what the edition changed into the student's copy, and keeps the copy as it was."""
        before = self.folder / HIDDEN / "before"
        name = re.sub(r"\W+", "-", str(self.edition)).strip("-")
        _put(folders.free(before / f"{path.stem}.before-{name}.ipynb"), was)
        done = self._write(lesson, path, was)
        copies = sorted(
            before.glob(f"{path.stem}.before-*"), key=lambda copy: copy.stat().st_mtime_ns
        )
        for old in copies[:-EARLIER_COPIES]:
            old.unlink()
        # what was removed has no name any more
        brought = [cell for cell in done.cells if cell["id"] in done.brought]
        known = {line for cell in read(path, was)["cells"] for line in _lines(cell)}
        line = (
            f"{lesson.name}: {in_unit(len(done.brought), 'cells')} brought in from the edition "
            f"{self.edition}"
        )
        code = [cell for cell in brought if cell["cell_type"] == "code"]
        line += f": {_named(code, known)}." if code else "."
        if texts := [cell for cell in brought if cell not in code]:
            line += f" New or changed text: {_named(texts, known)}."
        if done.kept:
            line += f" Where you and the edition differ, yours stays: {_named(done.kept)}."
            line += (
                f" `{folders.typed(f'fresh LESSON={lesson.name[:2]}')}` shows the edition's,"
                " beside yours."
            )
        return line

    def _changed_exercises(self, in_use: Callable[[], list[Path]]) -> Iterator[str]:
        """Names each exercise that has run here, and whose prompt, starter or check has changed
        since the last time. Above what its cells showed they say so. A notebook that is in use
        waits.
        """
        kept = self.folder / HIDDEN / "exercises.json"
        known = {}
        before = {}
        # none yet, or damaged: nothing is known of earlier ones
        with suppress(OSError, ValueError):
            before = json.loads(content(kept))
        for prompt in sorted(self.exercises.glob("[0-9][0-9]/*/prompt.md")):
            key = f"{prompt.parent.parent.name}.{prompt.parent.name}"
            parts = (prompt.with_name(name) for name in ("prompt.md", "starter.py", "check.py"))
            known[key] = _digest(b"".join(content(part) for part in parts if part.exists()))
            if before.get(key, known[key]) == known[key]:
                continue
            copies = [*self.folder.glob(f"{key[:2]}_*.ipynb")]
            if any(copy.is_relative_to(used) for copy in copies for used in in_use()):
                known[key] = before[key]
            elif any([_noted(copy, key) for copy in copies]):
                yield f"The exercise {key} has changed: run its cells again."
        if known != before:
            _put(kept, json.dumps(known, indent=1).encode())

    def _write(self, lesson: Path, path: Path, was: bytes | None) -> Merged:
        """Writes the lesson as it is now, with what is the student's in `was`, to `path`, whole or
        not at all.
        """
        theirs = read(lesson)
        mine = theirs | {"cells": []} if was is None else read(path, was)
        digest = _digest_of(theirs)
        made_from = _made_from(mine)
        base = []
        with suppress(NoNotebook):
            handed_out = read(self._base(lesson, made_from))
            base = handed_out["cells"] if _digest_of(handed_out) == made_from else []
        own = [cell for cell in mine["cells"] if not note_of(cell)]
        done = merged(base, own, theirs["cells"])
        hold = notes(mine["cells"], theirs["cells"])
        words = KEPT.format(folders.typed(f"fresh LESSON={lesson.name[:2]}"))
        source = {"edition": str(self.edition), "commit": self.edition.commit, "lesson": digest}
        notebook = mine | {
            "cells": [*with_notes(done, hold, words)],
            # With what JupyterLab adds when it opens the notebook, or a fresh copy would be unsaved
            # at once.
            "metadata": (
                mine["metadata"]
                | {
                    "zero_copy": source,
                    "language_info": IPythonKernel.language_info,
                }
            ),
            "nbformat_minor": max(5, mine["nbformat_minor"]),  # cells have ids since 4.5
        }
        _put(self._base(lesson, digest), content(lesson))
        _put(path, f"{json.dumps(notebook, sort_keys=True, indent=1)}\n".encode(), was)
        return done

    def _follow(self, file: Path) -> str:
        """Updates the copy of a file beside the lessons, unless the student has changed it."""
        path = self._copy(file)
        theirs = content(file)
        line = ""
        was = _now(path)
        base = self._base(file, _digest(theirs))
        if was is None or (was != theirs and self._base(file, _digest(was)).exists()):
            _put(path, theirs, was)
        elif was != theirs and not base.exists():
            name = file.relative_to(self.lessons).as_posix()
            line = f"{name} stays as you have it; edition {self.edition} has another version."
        if not base.exists():
            _put(base, theirs)
        return line

    def _copy(self, file: Path) -> Path:
        return self.folder / file.relative_to(self.lessons)

    def _base(self, file: Path, digest: str) -> Path:
        """The path of what was handed out under this digest."""
        inside = file.relative_to(self.lessons)
        return self.folder / HIDDEN / "base" / inside.with_stem(f"{inside.stem}.{digest}")


class Server(NamedTuple):
    """A running JupyterLab: where it is, "" if it doesn't answer; its folder; and the notebooks
    that it has kernels for, or its folder if it doesn't say.
    """

    address: str
    root: Path
    notebooks: list[Path]


def servers(folder: Path) -> Iterator[Server]:
    """Each running JupyterLab that shows this folder."""
    directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for file in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
        with suppress(OSError, ValueError):  # it has ended since
            server = json.loads(content(file))
            url = server["url"]
            token = server["token"]
            root = Path(server["root_dir"]).resolve()
            headers = {"Authorization": f"token {token}"}
            question = urllib.request.Request(f"{url}api/sessions", headers=headers)
            try:
                if folder.is_relative_to(root):
                    with directly.open(question, timeout=TIMEOUT_S) as answer:
                        notebooks = [root / session["path"] for session in json.load(answer)]
                        yield Server(f"{url}lab?token={token}", root, notebooks)
            except (OSError, ValueError) as error:
                if not isinstance(getattr(error, "reason", None), ConnectionRefusedError):
                    yield Server("", root, [root])


def _made_from(notebook: Notebook) -> str:
    """The digest of the lesson that a copy was made from; "" if it doesn't say."""
    match notebook["metadata"]:
        case {"zero_copy": {"lesson": str(digest)}} if re.fullmatch("[0-9a-f]{16}", digest):
            return digest
    return ""


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _digest_of(lesson: Notebook) -> str:
    """The digest of its cells only: the metadata names the edition, and another edition may have
    the same lesson.
    """
    return _digest(json.dumps(lesson["cells"], sort_keys=True).encode())


def _now(path: Path) -> bytes | None:
    """What a student's file holds; None if there is no file."""
    return content(path) if path.exists() else None


def _put(path: Path, data: bytes, was: bytes | EllipsisType | None = ...) -> None:
    """Writes a file whole. OSError if a student's file no longer holds what it `was`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, len(data)) as file:
        file.write(data)
        if was is not ... and _now(path) != was:
            raise OSError(errno.EBUSY, "an editor has just saved it", str(path))


def _noted(copy: Path, key: str) -> bool:
    """Says above the outputs of an exercise's cells that it has changed since. Are there any?"""
    with suppress(NoNotebook, OSError):  # it was named already
        was = content(copy)
        notebook = read(copy, was)
        shown = re.compile(rf"exercise\(\s*['\"]{re.escape(key)}['\"]")
        cells = [
            cell
            for cell in notebook["cells"]
            if cell.get("outputs") and shown.search("".join(cell["source"]))
        ]
        for cell in cells:
            earlier = [
                output for output in cell["outputs"] if "".join(output.get("text", "")) != CHANGED
            ]
            cell["outputs"] = [
                {"output_type": "stream", "name": "stdout", "text": CHANGED},
                *earlier,
            ]
        if cells:
            _put(copy, f"{json.dumps(notebook, sort_keys=True, indent=1)}\n".encode(), was)
        return bool(cells)
    return False


def _named(cells: Sequence[Cell], known: Collection[str] = ()) -> str:
    """The first three of these cells, as a person finds them, and how many there are."""
    names = [_name(cell, known) for cell in cells[:3]]
    return ", ".join([*names, *([f"and {len(cells) - 3} more"] if cells[3:] else [])])


def _name(cell: Cell, known: Collection[str]) -> str:
    """The exercise that a cell checks, or how its first line begins that isn't among the `known`
    ones.
    """
    if key := next(iter(checked_in("".join(cell["source"]))), ""):
        return f"the answer to {key}"
    lines = _lines(cell) or ["an empty cell"]
    first = next((line for line in lines if line not in known), lines[0])
    return f"“{first[:50]}{'…' * (len(first) > 50)}”"


def _lines(cell: Cell) -> list[str]:
    return [line for line in "".join(cell["source"]).splitlines() if line.strip()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.teach.work", description="Your own copies of the lessons."
    )
    parser.add_argument(
        "--fresh", metavar="02", help="put a fresh copy of this lesson beside yours"
    )
    parser.add_argument(
        "--once", action="store_true", help="fail if a JupyterLab runs on them already"
    )
    options = parser.parse_args(arguments)
    # a cell may hold what the terminal's encoding can't show
    sys.stdout.reconfigure(errors="replace")
    try:
        work = Work(folders.work(), folders.NOTEBOOKS, edition())
        if work.folder.is_relative_to(work.lessons):
            instead = "name a folder of your own. `make lab-sources` opens the lessons themselves."
            raise ValueError(f"ZERO_COPY_WORK names the lessons themselves; {instead}")
        if options.fresh is not None:
            print("A fresh copy:", work.fresh(folders.lesson(options.fresh)))
        else:
            with exclusive(work.folder):
                for line in work.bring_up_to_date():
                    print(line)
            for server in servers(work.folder) if options.once else ():
                if server.address and server.root == work.folder:
                    raise ValueError(RUNS_ALREADY.format(server.address))
    except ValueError as error:
        sys.exit(str(error))
    except OSError as error:
        why = f"Your copies of the lessons can't be written: {error.strerror}: {error.filename}"
        sys.exit(f"{why}. Set ZERO_COPY_WORK to another folder for them.")


if __name__ == "__main__":
    main()
