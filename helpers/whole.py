"""Files that are whole or not there: written beside their place, synced, then renamed. And files that are no pipes."""

import errno
import glob
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from . import units

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted: that serves as the lock
    fcntl = None


@contextmanager
def whole_file(path: str | os.PathLike, size: int) -> Iterator[BinaryIO]:
    """A file to write `size` bytes to, which becomes `path` when the block ends well, and vanishes when not.

    It is written in the same folder, synced, renamed, and the folder is synced (rename(2), fsync(2)), so
    `path` holds the old bytes or all the new ones at any moment. A link stays a link: the file that it leads to is
    replaced; and the permissions of a file that was there stay too. `size` is checked against the free space
    first: an old file there does not count as space, for it goes only when the new one is whole.

    FileNotFoundError (no such folder), IsADirectoryError, FileExistsError (a device or a pipe, which no file can
    replace), OSError with errno ENOSPC (too little room) or ELOOP (links that lead in a circle).
    """
    path = followed(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it first", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; a file name is wanted", str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is a device or a pipe, which no file can replace", str(path))
    remove_abandoned(path)
    kept = " (the file there now goes only when the new one is whole)" if path.exists() else ""
    check_room(path.parent, size, path.name + kept)
    unfinished = _beside(path)
    try:
        while not (file := _locked(unfinished)):
            unfinished = _beside(path)
        with suppress(OSError):
            shutil.copymode(path, unfinished)  # who could not read the old file cannot read the new one
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not fcntl:
                file.close()  # Windows renames closed files only; elsewhere the lock is kept until the end
            os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    with suppress(OSError):  # Windows opens no folder, and some network file systems sync none
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def regular_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to read. OSError for what is none: opening a pipe waits for its writer, and a device may never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "this is a device or a pipe; a file is wanted", os.fspath(path))
        yield file


def followed(path: str | os.PathLike) -> Path:
    """Where the links of a path lead; OSError with errno ELOOP where that is in a circle."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)
    return Path(os.path.realpath(path))


def check_room(folder: Path, size: int, what: str) -> None:
    """OSError with errno ENOSPC where the disk of `folder` has less than `size` bytes free; `what` needs them."""
    free = shutil.disk_usage(folder).free
    if size > free:
        need, have = (f"{units.in_words(n, 'bytes')} ({n:,} bytes)" for n in (size, free))
        raise OSError(errno.ENOSPC, f"{what} needs {need}, and {have} are free; make room in", str(folder))


def _beside(path: Path) -> Path:
    return path.with_name(f"{_begin(path)}.{secrets.token_hex(4)}.unfinished")


def _begin(path: Path) -> str:
    """How the unfinished file's name begins; with a part of a long name, because all of it may have 255 bytes."""
    return f".{path.name[:50]}"


def _locked(path: Path) -> BinaryIO | None:
    """A new file, locked while it is open: what is not locked was left by a killed process.

    None if another process took it for such a one, in the moment between making and locking it.
    """
    file = path.open("xb")
    with suppress(AttributeError, OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
    if os.fstat(file.fileno()).st_nlink:
        return file
    file.close()
    return None


def remove_abandoned(path: Path) -> None:
    """Removes what a killed process left of `path`; what another is writing now is locked, and stays."""
    for left in path.parent.glob(f"{glob.escape(_begin(path))}.????????.unfinished"):
        with suppress(OSError), regular_file(left) if fcntl else nullcontext() as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            left.unlink()
