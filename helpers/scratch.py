"""A place for files that a lesson writes and throws away."""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from .folders import generated

try:
    import fcntl
except ImportError:  # on Windows, leftovers of a killed process stay until `make clean`
    fcntl = None


def scratch(name: str) -> Path:
    """A path for `name` in this process's own folder under `folders.generated()`. Makes no file yet.

    So two notebooks never write the same copy. The folder goes when the process ends. If the process is killed, the
    next process to call scratch() removes its folder.
    """
    return _of_this_process(generated()) / name


@contextmanager
def room(name: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder under `parent` (default: `folders.generated()`), removed when the block ends. Folders of that name
    that killed processes left behind go first."""
    folder, lock = _new(name, parent or generated())
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


@cache
def _of_this_process(parent: Path) -> Path:
    folder, _ = _new("scratch", parent)
    atexit.register(_remove, folder)
    return folder


def _new(name: str, parent: Path) -> tuple[Path, int]:
    """A folder whose name begins with `name`, and a descriptor that holds its lock. Removes abandoned folders."""
    for left in parent.glob(f"{name}-*"):
        with suppress(OSError):
            abandoned = lock(left)
            _remove(left)
            os.close(abandoned)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
        try:
            held = lock(folder)
        except BlockingIOError:
            continue  # another process just took it for abandoned
        except OSError:  # a system, or a network file system, without such locks
            held = os.open(os.devnull, os.O_RDONLY)
        if folder.exists():
            return folder, held
        os.close(held)


def _remove(folder: Path) -> None:
    """Removes the folder, even if it holds folders that nobody may enter, or that are too deep for Python."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and os.name == "posix":
        for command in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):
            subprocess.run([*command, "--", folder], capture_output=True)


def lock(folder: Path) -> int:
    """A descriptor that holds the folder's lock, flock(2), until it's closed. BlockingIOError if another process holds
    the lock, another OSError if the system has no locks."""
    if not fcntl:
        raise OSError("no locks on this system")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # refuses a pipe that somebody put there
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except OSError:
        os.close(descriptor)
        raise
