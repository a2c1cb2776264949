"""Run a lesson once, on a fresh kernel: the tests and the handouts share the executed copy. Lessons
measure time, so they run one at a time, even when a test run and `make handouts` overlap.
"""

import hashlib
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import psutil
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..folders import BUILD, DATA, EXERCISES, RECORDED, ROOT, generated, write_whole
from ..safe_files import exclusive
from ..teach.claims import asserted_in
from ..teach.controls import TRIES

CELL_TIMEOUT = 600  # seconds
SAMPLED_EVERY = 0.2  # seconds: rarely enough not to disturb what a lesson measures
# kinds of files that a lesson may read
READ = {".py", ".toml", ".mplstyle", ".rs", ".md", ".json", ".csv"}


class LessonFailed(Exception):
    """A cell did not run to its end. The message has the cell's id, its first line, and the last
    line of its error.
    """


def executed(lesson: Path, folder: Path = BUILD / "executed", *, again: bool = False) -> Path:
    """The lesson with its outputs, `folder/<name>.ipynb`. Runs it if something that it depends on
    changed, or `again`. After each cell that asserts claims comes a cell with their controls
    (teach/controls.py).

    The copy's `metadata.zero_copy` holds `key` (a hash of all that the run depends on), `wall`
    (seconds) and `peak` (bytes; see `_peak`). Raises LessonFailed if a cell fails: what has run
    until then is in `<name>.failed.ipynb`, and an older executed copy stays as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / lesson.name
    failed = folder / f"{lesson.stem}.failed.ipynb"
    with exclusive(generated()):  # because lessons share the files that they make
        key = _key(lesson)
        if not again and copy.exists():
            metadata = json.loads(copy.read_text(encoding="utf-8"))["metadata"]
            if metadata.get("zero_copy", {}).get("key") == key:
                return copy
        notebook = nbformat.read(lesson, as_version=4)
        tries = TRIES.format(lesson=lesson.name[:2])
        for at, cell in reversed(list(enumerate(notebook.cells, 1))):
            if cell.cell_type == "code" and asserted_in(cell.source):
                controls = new_code_cell(
                    tries, id=f"{cell.id}-controls", metadata={"tags": ["controls"]}
                )
                notebook.cells.insert(at, controls)
        try:
            wall, peak = _run(notebook, lesson.parent)
        except LessonFailed as error:
            write_whole(failed, nbformat.writes(notebook))
            raise LessonFailed(f"{lesson.name}, {error}\n  the run up to there: {failed}") from None
        notebook.metadata["zero_copy"] = {"key": key, "wall": wall, "peak": peak}
        write_whole(copy, nbformat.writes(notebook))
        failed.unlink(missing_ok=True)
    return copy


def _run(notebook: NotebookNode, folder: Path) -> tuple[float, int]:
    """Executes the notebook in place, in `folder`: the seconds, and the peak memory in bytes."""
    started: list[NotebookNode] = []
    with (
        tempfile.TemporaryDirectory(prefix="zero-copy-") as scratch,
        _peak(manager := kernel(Path(scratch))) as peak,
    ):
        client = NotebookClient(
            notebook, manager, timeout=CELL_TIMEOUT, extra_arguments=["--log-level=ERROR"]
        )
        client.resources = {"metadata": {"path": str(folder)}}
        client.on_cell_start = lambda cell, cell_index: started.append(cell)
        (Path(scratch) / "state").mkdir()
        environment = os.environ | {
            "ZERO_COPY_STRICT": "1",
            "TQDM_DISABLE": "1",
            "ZERO_COPY_CLASS": "",
        }
        # not this user's
        environment |= {"ZERO_COPY_STATE": f"{scratch}/state", "IPYTHONDIR": f"{scratch}/ipython"}
        start = time.perf_counter()
        try:
            client.execute(cleanup_kc=True, env=environment)
            return time.perf_counter() - start, max(peak)
        except CellExecutionError as error:
            reason = f"{error.ename}: {error.evalue}"
        except CellTimeoutError:
            reason = f"still running after {CELL_TIMEOUT} s"
        except DeadKernelError:
            reason = "the kernel died"
    if not started:
        raise LessonFailed(f"before its first cell: {reason}")
    first = next(filter(str.strip, started[-1].source.splitlines()), "")
    last = list(filter(str.strip, reason.splitlines()))[-1]
    raise LessonFailed(f"cell {started[-1].id}: {last.strip()}\n  the cell begins: {first}")


def kernel(folder: Path) -> AsyncKernelManager:
    """A kernel on this interpreter, not started yet; its sockets are in `folder`. Not on TCP:
    Jupyter first looks for free ports, then takes them, so one of two kernels that start at once
    may die.
    """
    sockets = {} if os.name == "nt" else {"transport": "ipc", "ip": str(folder / "kernel")}
    # No folders to search: "python3" then means this interpreter, whatever is registered under that
    # name.
    return AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]), **sockets)


@contextmanager
def _peak(manager: AsyncKernelManager) -> Iterator[list[int]]:
    """Bytes of anonymous memory that the kernel and all its descendants had together, every
    SAMPLED_EVERY seconds: resident minus shared, proc_pid_statm(5). Pages lent by the page cache
    don't count; pages shared by a fork count in each process. Where the system doesn't report
    "shared" (macOS, Windows), it is resident memory.
    """
    samples = [0]
    over = threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLED_EVERY):
            with suppress(psutil.Error):  # one of them has just ended
                if pid := getattr(manager.provisioner, "pid", None):
                    kernel = psutil.Process(pid)
                    each = [
                        process.memory_info()
                        for process in (kernel, *kernel.children(recursive=True))
                    ]
                    samples.append(
                        sum(memory.rss - getattr(memory, "shared", 0) for memory in each)
                    )

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def _key(lesson: Path) -> str:
    """A hash of the lesson, all that it may read, and the Python version; or without the version
    where ZERO_COPY_EXECUTED_BY is "any", and copies that another Python made are good enough.
    """
    folders = (ROOT / "helpers", ROOT / "notebooks" / "rust", EXERCISES / lesson.name[:2], RECORDED)
    files = (
        path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in READ
    )
    # without what cargo leaves
    inputs = (path for path in files if "target" not in path.relative_to(ROOT).parts)
    python = f"{sys.implementation.cache_tag} {platform.python_version()}"
    digest = hashlib.sha256(os.environ.get("ZERO_COPY_EXECUTED_BY", python).encode())
    for path in (lesson, DATA / "claims.toml", *inputs):
        name = "lesson" if path == lesson else path.relative_to(ROOT).as_posix()
        digest.update(f"\0{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
