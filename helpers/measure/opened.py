"""Who has a file open: the descriptors of this process, the objects that have them, and other processes.

proc_pid_fd(5); without /proc, fstat(2) of each descriptor.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ..owners import is_a, own_dict
from . import maps

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MOST = 512  # descriptors that are tried where no folder lists them, as on Windows
FILES = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
UNTOLD = ""  # stands for a file that a library has open, without telling which
BESIDES = ("", "-wal", "-shm", "-journal")  # the files that SQLite keeps beside its database


def descriptors_of(path: str | os.PathLike) -> dict[int, bool]:
    """This process's descriptors of the file, or of a deleted file of this name: is it deleted?"""
    deleted = os.path.realpath(path) + maps.DELETED
    folder = next(filter(os.path.isdir, ("/proc/self/fd", "/dev/fd")), None)
    numbers = map(int, os.listdir(folder)) if folder else range(MOST)
    found, is_of = {}, _file(path)
    for number in numbers:
        with suppress(OSError):  # the one that listed the folder has gone
            link = os.readlink(f"{folder}/{number}") if folder == "/proc/self/fd" else ""
            if is_of(os.fstat(number), link):
                found[number] = link == deleted
    return found


def processes_that_open(path: str | os.PathLike) -> tuple[dict[int, str], int]:
    """Their names by number, and how many processes this user may not look into."""
    is_of = _file(path)

    def opens(pid: int) -> bool:
        for number in os.listdir(folder := f"/proc/{pid}/fd"):
            with suppress(FileNotFoundError):  # closed meanwhile
                if is_of(os.stat(f"{folder}/{number}"), os.readlink(f"{folder}/{number}")):
                    return True
        return False

    return maps.processes_where(opens)


def _file(path: str | os.PathLike) -> Callable[[os.stat_result, str], bool]:
    """Is it this file, or a deleted one of its name? Asked with a descriptor's status and its link in /proc."""
    same, deleted = None, os.path.realpath(path) + maps.DELETED
    with suppress(OSError):
        same = os.stat(path)
    return lambda status, link: link == deleted or (same is not None and os.path.samestat(status, same))


def how(number: int) -> str:
    """ "descriptor 12, opened read-only" """
    modes = {os.O_RDONLY: ", opened read-only", os.O_WRONLY: ", opened for writing",
             os.O_RDWR: ", opened for reading and writing"}  # fmt: skip
    with suppress(OSError):  # closed meanwhile
        return f"descriptor {number}" + (modes.get(fcntl.fcntl(number, fcntl.F_GETFL) & 3, "") if fcntl else "")
    return f"descriptor {number}"


# --- the objects that have a file open -----------------------------------------------------------------------
def kinds() -> tuple[type, ...]:
    """The types of such objects, in the libraries that are loaded."""
    return FILES + tuple(kind for kind, _ in _rules())


def opened_by(obj: Any) -> Iterable[int | str]:
    """The descriptors that it has; or, if its library doesn't tell them, the paths of its files; or UNTOLD."""
    with suppress(Exception):  # closed; in use by another thread; a library that has changed
        if is_a(obj, FILES):
            return [_descriptor(obj)]
        return next(rule(obj) for kind, rule in _rules() if is_a(obj, kind))
    return []


def _descriptor(obj: Any) -> int:
    """Of a file object of Python's. No code of a subclass runs."""
    while not is_a(obj, io.FileIO):
        kind = next(kind for kind in FILES if is_a(obj, kind))
        obj = (vars(kind).get("raw") or vars(kind)["buffer"]).__get__(obj)
    return io.FileIO.fileno(obj)


def _rules() -> list[tuple[type, Callable[[Any], Iterable[int | str]]]]:
    found = ((own_dict(sys.modules.get(module)).get(name), rule) for module, name, rule in LIBRARIES)
    return [(kind, rule) for kind, rule in found if is_a(kind, type)]


def _of_sqlite(connection: Any) -> list[str]:
    """Of all its databases. `connection.execute` would use the connection's own row factory."""
    sqlite3 = sys.modules["sqlite3"]
    try:
        names = [name for *_, name in sqlite3.Cursor(connection).execute("PRAGMA database_list") if name]
    except sqlite3.ProgrammingError as error:  # closed, or another thread's
        return [UNTOLD] if "thread" in str(error) else []
    return [name + suffix for name in names for suffix in BESIDES]


def _of_h5py(obj: Any) -> list[int | str]:
    """Of a file, group, dataset or attribute, or h5py's own object for it."""
    h5py = sys.modules["h5py"]
    file = h5py.h5i.get_file_id(obj.id if is_a(obj, h5py.HLObject) else obj)
    return [file.get_vfd_handle(), os.fsdecode(h5py.h5f.get_name(file))]


def _of_arrow(file: Any) -> list[int | str]:
    """One that was opened by way of pyarrow.fs, as ParquetFile does, doesn't tell."""
    with suppress(OSError):  # io.UnsupportedOperation
        return [file.fileno()]
    return [] if file.closed else [UNTOLD]


LIBRARIES = (
    ("sqlite3", "Connection", _of_sqlite),
    ("h5py", "HLObject", _of_h5py),
    ("h5py._objects", "ObjectID", _of_h5py),
    ("pyarrow", "NativeFile", _of_arrow),
    ("multiprocessing.shared_memory", "SharedMemory", lambda block: [own_dict(block)["_fd"]]),
)
