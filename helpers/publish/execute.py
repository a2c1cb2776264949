"""Run a lesson once, on a fresh kernel: the tests and the handouts share the executed copy.

Lessons measure time, so they run one at a time, even when a test run and `make handouts` overlap.
"""

import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from contextlib import suppress
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
from ..teach.claims import asserted_in
from ..teach.controls import TRIES
from ..whole import alone

CELL_TIMEOUT = 600  # seconds
SAMPLED_EVERY = 0.2  # seconds: rarely enough not to disturb what a lesson measures


class LessonFailed(Exception):
    """A cell did not run to its end. The message has the cell's id, its first line, and the last line of its error."""


def executed(lesson: Path, folder: Path = BUILD / "executed", *, again: bool = False) -> Path:
    """The lesson with its outputs, `folder/<name>.ipynb`. Runs it if something that it depends on changed, or `again`.

    After each cell that asserts claims comes a cell with their controls (teach/controls.py).
    The copy's `metadata.zero_copy` holds `key` (a hash of all that the run depends on), `wall` (seconds) and
    `peak` (bytes; see `_Watch`). Raises LessonFailed if a cell fails: what has run until then is in
    `<name>.failed.ipynb`, and an older executed copy stays as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copy, failed = folder / lesson.name, folder / f"{lesson.stem}.failed.ipynb"
    with alone(generated()):  # because lessons share the files that they make
        key = _key(lesson)
        if not again and copy.exists() and _facts(copy).get("key") == key:
            return copy
        notebook = _with_controls(nbformat.read(lesson, as_version=4), lesson.name[:2])
        try:
            wall, peak = _run(notebook, lesson.parent)
        except LessonFailed as error:
            write_whole(failed, nbformat.writes(notebook))
            raise LessonFailed(f"{lesson.name}, {error}\n  the run up to there: {failed}") from None
        notebook.metadata["zero_copy"] = {"key": key, "wall": wall, "peak": peak}
        write_whole(copy, nbformat.writes(notebook))
        failed.unlink(missing_ok=True)
    return copy


def _with_controls(notebook: NotebookNode, lesson: str) -> NotebookNode:
    """Adds a cell, tagged "controls", after each cell that asserts claims. It tests that these claims can fail."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code" and asserted_in(cell.source):
            tries = TRIES.format(lesson=lesson)
            cells.append(new_code_cell(tries, id=f"{cell.id}-controls", metadata={"tags": ["controls"]}))
    notebook.cells = cells
    return notebook


def _run(notebook: NotebookNode, folder: Path) -> tuple[float, int]:
    """Executes the notebook in place, in `folder`. Returns the seconds, and the peak memory in bytes."""
    started: list[NotebookNode] = []
    with tempfile.TemporaryDirectory(prefix="zero-copy-") as scratch, _Watch(manager := kernel(Path(scratch))) as watch:
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=CELL_TIMEOUT,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(folder)}},
            on_cell_start=lambda cell, cell_index: started.append(cell),
        )
        (Path(scratch) / "state").mkdir()
        environment = os.environ | {
            "ZERO_COPY_STRICT": "1",
            "TQDM_DISABLE": "1",
            "ZERO_COPY_STATE": str(Path(scratch) / "state"),  # no predictions of this user's
            "IPYTHONDIR": str(Path(scratch) / "ipython"),  # nor start-up files
        }
        start = time.perf_counter()
        try:
            client.execute(cleanup_kc=True, env=environment)
        except CellExecutionError as error:
            raise LessonFailed(_where(started[-1], f"{error.ename}: {error.evalue}")) from None
        except CellTimeoutError:
            raise LessonFailed(_where(started[-1], f"still running after {CELL_TIMEOUT} s")) from None
        except DeadKernelError:
            raise LessonFailed(_where(started[-1] if started else None, "the kernel died")) from None
        return time.perf_counter() - start, watch.peak


def kernel(folder: Path) -> AsyncKernelManager:
    """A kernel on this interpreter, not started yet; its sockets are in `folder`.

    Not on TCP: Jupyter first looks for free ports, then takes them, so one of two kernels that start at once may die.
    """
    sockets = {} if os.name == "nt" else {"transport": "ipc", "ip": str(folder / "kernel")}
    # No folders to search: "python3" then means this interpreter, whatever is registered under that name.
    return AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]), **sockets)


def _where(cell: NotebookNode | None, error: str) -> str:
    if cell is None:
        return f"before its first cell: {error}"
    first = next((line for line in cell.source.splitlines() if line.strip()), "")
    last = ([line for line in error.splitlines() if line.strip()] or [""])[-1]
    return f"cell {cell.id}: {last.strip()}\n  the cell begins: {first}"


class _Watch:
    """`peak`: the most anonymous memory that the kernel and all its descendants had at one moment, in bytes.

    The sum over the processes of resident minus shared, proc_pid_statm(5). Pages lent by the page cache don't count;
    pages shared by a fork count in each process. Where the system doesn't report "shared" (macOS, Windows), it is the
    sum of resident memory. It is sampled, and misses shorter peaks.
    """

    def __init__(self, manager: AsyncKernelManager):
        self.peak = 0
        self._manager = manager
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "_Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLED_EVERY):
            pid = getattr(self._manager.provisioner, "pid", None)
            if pid is not None:
                self.peak = max(self.peak, _anonymous(pid))


def _anonymous(pid: int) -> int:
    total = 0
    with suppress(psutil.NoSuchProcess):
        kernel = psutil.Process(pid)
        for process in (kernel, *kernel.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                memory = process.memory_info()
                total += memory.rss - getattr(memory, "shared", 0)
    return total


def _key(lesson: Path) -> str:
    """A hash of the lesson, its exercises, the helpers, the Rust programs, the claims, the recorded runs and the Python
    version."""
    inputs = [
        *sorted((ROOT / "helpers").rglob("*.py")),
        *(ROOT / "helpers").rglob("*.mplstyle"),
        *sorted((ROOT / "notebooks" / "rust").glob("*.rs")),
        *sorted((ROOT / "notebooks" / "rust" / "crates").glob("*.rs")),
        *sorted(path for path in (EXERCISES / lesson.name[:2]).rglob("*") if path.is_file()),
        DATA / "claims.toml",
        *sorted(path for path in RECORDED.rglob("*") if path.is_file()),
    ]
    digest = hashlib.sha256(sys.version.encode())
    for name, path in (("lesson", lesson), *((path.relative_to(ROOT).as_posix(), path) for path in inputs)):
        digest.update(f"\0{name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _facts(copy: Path) -> dict:
    try:
        return json.loads(copy.read_text(encoding="utf-8"))["metadata"].get("zero_copy", {})
    except (ValueError, KeyError):
        return {}
