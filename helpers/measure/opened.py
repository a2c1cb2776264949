"""Who has a file open: the descriptors of a process, and the objects that have them. proc_pid_fd(5), fstat(2)."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..owners import is_a, own_dict
from . import maps
from .shown import loaded

MOST = 4096  # descriptors that are tried where /proc doesn't list them
FILES = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
UNTOLD = ""  # stands for a file that a library has open, without telling which
BESIDES = ("", "-wal", "-shm", "-journal")  # the files that SQLite keeps beside its database
Rule = Callable[[Any], list[int | str]]


def descriptors_of(path: str | os.PathLike, pid: int | str = "self") -> dict[int, bool]:
    """A process's descriptors of the file, or of a deleted file of this name: is it deleted?"""
    folder = f"/proc/{pid}/fd" if os.path.isdir("/proc/self/fd") else None
    found, same, deleted = {}, None, os.path.realpath(path) + maps.DELETED
    with suppress(OSError):
        same = os.stat(path)
    for number in map(int, os.listdir(folder)) if folder else range(MOST):
        with suppress(OSError):  # closed meanwhile
            status = os.stat(f"{folder}/{number}") if folder else os.fstat(number)
            gone = bool(folder) and os.readlink(f"{folder}/{number}") == deleted
            if gone or (same and os.path.samestat(status, same)):
                found[number] = gone
    return found


# --- the objects that have a file open -----------------------------------------------------------------------
def rules() -> list[tuple[type, Rule]]:
    """The types of such objects, in the libraries that are loaded, and what tells the files of one."""
    return [(kind, rule) for module, name, rule in LIBRARIES for kind in loaded(module, name)]


def opened_by(obj: Any) -> list[int | str]:
    """The descriptors that it has; or, if its library doesn't tell them, the paths of its files; or UNTOLD."""
    with suppress(Exception):  # closed; in use by another thread; a library that has changed
        return next(rule(obj) for kind, rule in rules() if is_a(obj, kind))
    return []


def _of_python(file: Any) -> list[int]:
    return [next(kind.fileno(file) for kind in FILES if is_a(file, kind))]  # not a method of the file's own class


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


LIBRARIES: tuple[tuple[str, str, Rule], ...] = (
    *(("io", kind.__name__, _of_python) for kind in FILES),
    ("sqlite3", "Connection", _of_sqlite),
    ("h5py", "HLObject", _of_h5py),
    ("h5py._objects", "ObjectID", _of_h5py),
    ("pyarrow", "NativeFile", _of_arrow),
    ("multiprocessing.shared_memory", "SharedMemory", lambda block: [own_dict(block)["_fd"]]),
)
