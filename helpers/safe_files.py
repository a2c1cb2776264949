"""Write files and folders completely or not at all: beside their place, then renamed. And open
regular files only. What isn't complete yet is in a folder that is locked. If its process is killed,
the next to write there removes it.
"""

import errno
import glob
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from . import units

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves stays until `make clean`
    fcntl = None


@contextmanager
def whole_file(path: str | os.PathLike, size: int) -> Iterator[BinaryIO]:
    """A file to write `size` bytes to. It becomes `path` when the block succeeds, and vanishes when
    the block fails.

    It's synced and renamed, and then its folder is synced (rename(2), fsync(2)), so at any moment
    `path` holds the old bytes or all the new bytes. A link stays a link, and the file it leads to
    is replaced. The permissions of an old file stay too. `size` is checked against the free space,
    without what the old file will give back.

    FileNotFoundError (no such folder), IsADirectoryError, FileExistsError (a device or a pipe,
    which no file can replace), OSError with errno ENOSPC (not enough room) or ELOOP (links that
    lead in a circle).
    """
    path = followed(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(
            errno.EEXIST, "this is a device or a pipe, which no file can replace", str(path)
        )
    # a name has at most 255 bytes
    with temporary_folder(path.parent, f".{path.name[:50]}") as folder:
        old = " (the old file goes only when the new one is complete)" if path.exists() else ""
        check_free_space(path.parent, size, path.name + old)
        with (folder / "new").open("xb") as file:
            with suppress(OSError):
                # whoever couldn't read the old file can't read the new one
                shutil.copymode(path, file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    # Windows can't open a folder, and some network file systems can't sync one
    with suppress(OSError):
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Makes `folder` hold exactly these files, by their paths in it ("a.html", "data/b.json"), or
    leaves it as is.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent, f".{folder.name}") as beside:
        new = beside / "new"
        old = beside / "old"
        for name, data in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(data)
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise


@contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new folder in `parent`, locked, and removed when the block ends. Its name begins with
    `name`. First removes such folders of killed processes.
    """
    folder, descriptor = locked_folder(parent, name)
    try:
        yield folder
    finally:
        remove_folder(folder)
        os.close(descriptor)


def locked_folder(parent: Path, name: str) -> tuple[Path, int]:
    """As `temporary_folder`, but it stays: the folder, and a descriptor that holds its lock."""
    for left in parent.glob(f"{glob.escape(name)}-????????.partial"):
        with suppress(OSError):
            abandoned = lock(left)
            remove_folder(left)
            os.close(abandoned)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", suffix=".partial", dir=parent))
        try:
            descriptor = lock(folder)
        except BlockingIOError:
            continue  # another process just took it for abandoned
        except OSError:  # a system, or a network file system, without such locks
            descriptor = os.open(os.devnull, os.O_RDONLY)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


@contextmanager
def exclusive(folder: Path, timeout: float | None = None) -> Iterator[None]:
    """Meanwhile no other process is in such a block for this folder, unless one stays there for
    `timeout` seconds. Where a system has no locks, nobody waits.
    """
    until = time.monotonic() + (timeout or 0)
    with ExitStack() as stack:
        while timeout is None or time.monotonic() < until:
            try:
                stack.callback(os.close, lock(folder, wait=timeout is None))
                break
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                break
        yield


def remove_folder(folder: Path) -> None:
    """Removes the folder, even if it holds folders that nobody may enter, or that are too deep for
    Python.
    """
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and os.name == "posix":
        for command in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):
            subprocess.run([*command, "--", folder], capture_output=True)


def lock(folder: Path, wait: bool = False) -> int:
    """A descriptor that holds the folder's lock, flock(2), until it's closed. BlockingIOError if
    another process holds the lock and this doesn't `wait`, another OSError if the system has no
    locks.
    """
    if not fcntl:
        raise OSError("no locks on this system")
    # refuses a pipe that somebody put there
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return descriptor
    except OSError:
        os.close(descriptor)
        raise


@contextmanager
def regular_file(
    path: str | os.PathLike, links: bool = True, mode: str = "rb"
) -> Iterator[BinaryIO]:
    """A file to read, or to change ("r+b"), through `links` or not. OSError for a device, which may
    never end, a pipe, which waits, or a file of which another process has a lease, fcntl(2).
    """
    safely = getattr(os, "O_NONBLOCK", 0) | (0 if links else getattr(os, "O_NOFOLLOW", 0))
    with open(path, mode, opener=lambda name, flags: os.open(name, flags | safely)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(
                errno.EINVAL, "this is a device or a pipe, not a regular file", os.fspath(path)
            )
        yield file


def followed(path: str | os.PathLike) -> Path:
    """Where the links of a path lead; OSError with errno ELOOP if they lead in a circle."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)
    return Path(os.path.realpath(path))


def check_free_space(folder: Path, size: int, what: str) -> None:
    """OSError with errno ENOSPC if the disk of `folder` has less than the `size` bytes that `what`
    needs.
    """
    free = shutil.disk_usage(folder).free
    if size > free:
        need, have = (f"{units.in_words(n, 'bytes')} ({n:,} bytes)" for n in (size, free))
        raise OSError(
            errno.ENOSPC, f"{what} needs {need}, and {have} are free; make room in", str(folder)
        )
