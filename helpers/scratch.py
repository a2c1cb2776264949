"""Room for files that a lesson writes and throws away."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from .folders import generated

try:
    import fcntl
except ImportError:  # Windows: what a killed process left stays until `make clean`
    fcntl = None


def scratch(name: str) -> Path:
    """A path for `name` in a folder of this process alone, under `folders.generated()`; nothing is made there yet.

    So two notebooks never write the same copy. The folder goes when the process ends; what a killed process left goes
    when the next one asks.
    """
    return _folder(generated()) / name


@cache
def _folder(parent: Path) -> Path:
    for left in parent.glob("scratch-*"):
        with suppress(OSError):
            held = _lock(left)
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)
    while True:
        folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=parent))
        with suppress(OSError):  # a system, or a network file system, without such locks
            try:
                _lock(folder)  # kept until this process ends
            except BlockingIOError:
                continue  # another process took it for an abandoned one, in the moment before
        if folder.exists():
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            return folder


def _lock(folder: Path) -> int:
    """A descriptor that holds the folder's lock, flock(2). BlockingIOError where another process holds it, another
    OSError where there are no locks."""
    if not fcntl:
        raise OSError("no locks on this system")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except OSError:
        os.close(descriptor)
        raise
