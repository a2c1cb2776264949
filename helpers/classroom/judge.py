"""Judges the answers in one notebook, in a process of its own, for grade.py: `python -m
helpers.classroom.judge`.

It reads a line of JSON, which says what to judge, and then the notebook; it writes each verdict as
a line of JSON. A notebook that can't be read ends this process, not the grader; one that takes too
long, by SIGPROF, because nothing else interrupts Python's compiler.
"""

import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psutil

from ..edition import git
from ..folders import ROOT
from ..measure.child import tie_to_the_parent
from ..teach.exercises import NOT_CARRIED, Exercise, exercise
from ..teach.judging import Fence
from ..teach.source import Cell, NotCarried, answer, not_python
from ..teach.words import short
from ..units import GiB
from . import sandbox
from .reading import ASK, UNREADABLE, CannotBeGraded

# characters of code in a notebook, and cells: the lessons have up to 12,000 and 60
CODE_LENGTH, CELLS = (250_000, 5_000)
READ_MEMORY = 1 * GiB
READ_TIME_S = 10  # of memory, and of processor time, to read a notebook
TIMEOUT = 20.0  # seconds for a function, as at home
SHOWN_LENGTH = 4_000  # characters of the judged cell
NOT_CHECKED = "not-checked"  # a cause that says nothing about the answer, which is judged again


def main() -> None:
    """Keeps what a student's function prints out of the verdicts, and ends if the grader dies."""
    tie_to_the_parent()
    sandbox.leave_keys()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        request = json.loads(sys.stdin.buffer.readline())
        notebook = sys.stdin.buffer.read()
        # poll(2) on a pipe's end: did the grader die before this was tied to it?
        if hasattr(select, "poll"):
            poller = select.poll()
            poller.register(out, 0)
            if poller.poll(0):
                return
        for verdict in verdicts(notebook, **request):
            out.write(json.dumps(verdict) + "\n")
            out.flush()


def verdicts(
    notebook: bytes,
    exercises: Sequence[str],
    commit: str = "",
    trusted: bool = False,
    timeout: float = TIMEOUT,
) -> Iterator[dict]:
    """The verdicts, with the fields of store.Row; `commit` is the commit of the notebook's
    edition.
    """
    try:
        with _limits():
            cells = code_cells(notebook)
    except CannotBeGraded as error:
        why = {"outcome": "not graded", "because": str(error), "cause": UNREADABLE}
        yield from ({"exercise": key, **why} for key in exercises)
        return
    for key in exercises:
        began = time.monotonic()
        task = as_given(exercise(key), commit)
        yield {
            "exercise": key,
            **judged(task, cells, trusted, timeout),
            "seconds": round(time.monotonic() - began, 1),
        }


def judged(
    task: Exercise, cells: Sequence[Cell], trusted: bool = False, timeout: float = TIMEOUT
) -> dict[str, Any]:
    try:
        with _limits():
            attempt = answer(task, cells)
            reason = (
                "" if attempt and task.is_attempt(attempt.code) else not_python(cells, task.name)
            )
    except NotCarried as error:
        return {"outcome": "not graded", "because": str(error), "cause": NOT_CARRIED}
    except Exception as error:
        why = f"its cells cannot be read: {type(error).__name__}: {error}"
        return {"outcome": "not graded", "because": short(why, 400)}
    if reason:
        return {"outcome": "not yet", "because": reason, "cause": "not-python"}
    if attempt is None:
        return {"outcome": "not attempted", "because": f"No cell defines `{task.name}`."}
    verdict = task.verdict(
        attempt, timeout=timeout, fence=(lambda folder: Fence()) if trusted else sandbox.fence
    )
    fields = {name: getattr(verdict, name) for name in ("because", "cause", "figures", "half")}
    fields["outcome"] = "not graded" if verdict.cause == NOT_CHECKED else verdict.outcome
    code = short(attempt.texts[attempt.file].strip().expandtabs(4), SHOWN_LENGTH)
    return fields | {"cell": int(attempt.file[6:-1]), "code": code}


def as_given(task: Exercise, commit: str) -> Exercise:
    """The exercise with the starter that the student got, if this checkout knows that edition."""
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        return task
    path = (task.folder / "starter.py").relative_to(ROOT).as_posix()
    with suppress(OSError, subprocess.CalledProcessError):
        return replace(task, starter=git("show", f"{commit}:{path}").decode())
    return task


def check_hash(task: Exercise) -> str:
    """A hash of the files that judge an answer; when it changes, the answer is judged again."""
    digest = hashlib.sha256()
    for path in sorted(task.folder.iterdir()):
        if path.is_file() and path.name not in ("hints.md", "solution.py"):
            digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def code_cells(notebook: bytes) -> list[Cell]:
    """The name and source of each code cell. Raises CannotBeGraded if this isn't a notebook."""
    try:
        content = json.loads(notebook)
    except (ValueError, RecursionError, MemoryError):
        problem = "it is damaged or cut off, and JupyterLab couldn't open it either"
        raise CannotBeGraded(f"{problem}; {ASK}") from None
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise CannotBeGraded(
            f"it is JSON, but not a notebook of format 4, which JupyterLab saves; {ASK}"
        )
    if len(cells) > CELLS:
        raise CannotBeGraded(f"it has {len(cells):,} cells; the limit is {CELLS:,}")
    texts = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            lines = source if isinstance(source, list) else [source]
            if not all(isinstance(line, str) for line in lines):
                raise CannotBeGraded(f"its cell {number} holds something that is not text")
            texts.append((f"<cell {number}>", "".join(lines)))
    if (size := sum(len(text) for _, text in texts)) > CODE_LENGTH:
        raise CannotBeGraded(f"it holds {size:,} characters of code; the limit is {CODE_LENGTH:,}")
    return texts


@contextmanager
def _limits() -> Iterator[None]:
    """Limits address space to READ_MEMORY more than now, setrlimit(2); processor time to
    READ_TIME_S, setitimer(2).
    """
    if os.name == "nt":  # judged without a sandbox, or not at all
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = psutil.Process().memory_info().vms + READ_MEMORY
    resource.setrlimit(
        resource.RLIMIT_AS, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard)
    )
    signal.setitimer(signal.ITIMER_PROF, READ_TIME_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    main()
