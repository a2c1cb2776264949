"""Write files completely or not at all: beside their place, synced, then renamed. And open regular files only."""

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
except ImportError:  # Windows can't delete an open file: that serves as the lock
    fcntl = None


@contextmanager
def whole_file(path: str | os.PathLike, size: int) -> Iterator[BinaryIO]:
    """A file to write `size` bytes to. It becomes `path` when the block succeeds, and vanishes when the block fails.

    It's written in the same folder, synced and renamed, and then the folder is synced (rename(2), fsync(2)). So at any
    moment, `path` holds the old bytes or all the new bytes. A link stays a link, and the file it leads to is replaced.
    The permissions of an old file stay too. First, `size` is checked against the free space. An old file doesn't count
    as free space, because it goes only when the new file is complete.

    FileNotFoundError (no such folder), IsADirectoryError, FileExistsError (a device or a pipe, which no file can
    replace), OSError with errno ENOSPC (not enough room) or ELOOP (links that lead in a circle).
    """
    path = followed(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is a device or a pipe, which no file can replace", str(path))
    remove_abandoned(path)
    kept = " (the old file goes only when the new one is complete)" if path.exists() else ""
    check_room(path.parent, size, path.name + kept)
    unfinished = _beside(path)
    try:
        while not (file := _locked(unfinished)):
            unfinished = _beside(path)
        with suppress(OSError):
            shutil.copymode(path, unfinished)  # whoever couldn't read the old file can't read the new one
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not fcntl:
                file.close()  # Windows renames only closed files; elsewhere, keep the lock until the end
            os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    with suppress(OSError):  # Windows can't open a folder, and some network file systems can't sync one
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def regular_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to read. OSError for a device or a pipe: opening a pipe waits for a writer, and a device may never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "this is a device or a pipe, not a regular file", os.fspath(path))
        yield file


def followed(path: str | os.PathLike) -> Path:
    """Where the links of a path lead; OSError with errno ELOOP if they lead in a circle."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)
    return Path(os.path.realpath(path))


def check_room(folder: Path, size: int, what: str) -> None:
    """OSError with errno ENOSPC if the disk of `folder` has less than the `size` bytes that `what` needs."""
    free = shutil.disk_usage(folder).free
    if size > free:
        need, have = (f"{units.in_words(n, 'bytes')} ({n:,} bytes)" for n in (size, free))
        raise OSError(errno.ENOSPC, f"{what} needs {need}, and {have} are free; make room in", str(folder))


def _beside(path: Path) -> Path:
    return path.with_name(f"{_begin(path)}.{secrets.token_hex(4)}.unfinished")


def _begin(path: Path) -> str:
    """How the unfinished file's name begins: cut, because a name has at most 255 bytes."""
    return f".{path.name[:50]}"


def _locked(path: Path) -> BinaryIO | None:
    """A new file, locked while it's open: an unlocked file was left by a killed process.

    None if another process took it for such a file, just before it was locked.
    """
    file = path.open("xb")
    with suppress(AttributeError, OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
    if os.fstat(file.fileno()).st_nlink:
        return file
    file.close()
    return None


def remove_abandoned(path: Path) -> None:
    """Removes what killed processes left of `path`. A file that another process is writing now is locked, and stays."""
    for left in path.parent.glob(f"{glob.escape(_begin(path))}.????????.unfinished"):
        with suppress(OSError), regular_file(left) if fcntl else nullcontext() as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            left.unlink()
