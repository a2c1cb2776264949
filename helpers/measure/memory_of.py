"""What an object holds: which bytes it shows, and which files it has open. No library is imported
for it.
"""

import io
import mmap
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..owners import is_a, own_dict
from ..units import in_words

TORCH = ("torch", "Tensor")
ARROW = (
    "pyarrow",
    "Table",
    "RecordBatch",
    "ChunkedArray",
    "Array",
    "ListScalar",
    "DictionaryScalar",
    "Buffer",
)
ARROW_PARTS = ("columns", "chunks", "values", "dictionary")
FILES = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
UNTOLD = ""  # stands for a file that a library has open, without telling which
BESIDES = ("", "-wal", "-shm", "-journal")  # the files that SQLite keeps beside its database


def loaded(module: str, *names: str) -> tuple[type, ...]:
    """The types of these names, if the module is loaded."""
    return tuple(
        kind for kind in map(own_dict(sys.modules.get(module)).get, names) if is_a(kind, type)
    )


def kinds() -> tuple[type, ...]:
    return np.ndarray, memoryview, mmap.mmap, *loaded(*TORCH), *loaded(*ARROW)


def spans(obj: Any) -> list[tuple[int, int]]:
    """The addresses of its bytes, from and up to: of a tensor those of its storage, of a table
    those of each buffer.
    """
    # it shows none, no longer, or not in a row; what lends them can be anybody's code
    with suppress(Exception):
        if is_a(obj, np.ndarray):
            return [byte_bounds(np.ndarray.view(obj, np.ndarray))]
        if is_a(obj, loaded(*ARROW)):
            return [(buffer.address, buffer.address + buffer.size) for buffer in _buffers(obj)]
        if is_a(obj, loaded(*TORCH)):
            storage = obj.untyped_storage()
            return [(storage.data_ptr(), storage.data_ptr() + storage.nbytes())]
        return [byte_bounds(np.frombuffer(obj, np.uint8))]
    return []


def described(obj: Any) -> str:
    """ "ndarray of 4 MiB" """
    name = "mapping" if is_a(obj, mmap.mmap) else type(obj).__name__
    if is_a(obj, type):
        return f"class {type.__dict__['__name__'].__get__(obj)}"
    with suppress(Exception):  # it shows no bytes
        if is_a(obj, np.ndarray):
            size = np.ndarray.nbytes.__get__(obj)
        elif is_a(obj, (*loaded(*TORCH), *loaded(*ARROW))):
            size = obj.nbytes if hasattr(obj, "nbytes") else obj.size
        else:
            size = memoryview(obj).nbytes
        return f"{name} of {in_words(size, 'bytes')}"
    return name


def _buffers(obj: Any) -> list[Any]:
    """Of an Arrow table, column, chunk, or a list or category in it; other scalars are copies."""
    if hasattr(obj, "address"):
        return [obj]
    if hasattr(obj, "buffers"):
        return [buffer for buffer in obj.buffers() if buffer]
    parts = next(getattr(obj, name) for name in ARROW_PARTS if hasattr(obj, name))
    return [
        buffer
        for part in (parts if isinstance(parts, list) else [parts])
        for buffer in _buffers(part)
    ]


# --- the files that it has open -------------------------------------------------------------------
def rules() -> list[tuple[type, Callable[[Any], list[int | str]]]]:
    """The types of such objects, in the libraries that are loaded, and what tells the files
    of one.
    """
    return [(kind, rule) for module, name, rule in LIBRARIES for kind in loaded(module, name)]


def opened_by(obj: Any) -> list[int | str]:
    """The descriptors that it has; or, if its library doesn't tell them, the paths of its files; or
    UNTOLD.
    """
    with suppress(Exception):  # closed; in use by another thread; a library that has changed
        return next(rule(obj) for kind, rule in rules() if is_a(obj, kind))
    return []


def _of_sqlite(connection: Any) -> list[str]:
    """Of all its databases. `connection.execute` would use the connection's own row factory."""
    sqlite3 = sys.modules["sqlite3"]
    try:
        names = [
            name for *_, name in sqlite3.Cursor(connection).execute("PRAGMA database_list") if name
        ]
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
    with suppress(OSError, AttributeError):  # io.UnsupportedOperation; pyarrow 22
        return [file.fileno()]
    return [] if file.closed else [UNTOLD]


LIBRARIES = (
    *(("io", kind.__name__, lambda file, kind=kind: [kind.fileno(file)]) for kind in FILES),
    ("sqlite3", "Connection", _of_sqlite),
    ("h5py", "HLObject", _of_h5py),
    ("h5py._objects", "ObjectID", _of_h5py),
    ("pyarrow", "NativeFile", _of_arrow),
    ("multiprocessing.shared_memory", "SharedMemory", lambda block: [own_dict(block)["_fd"]]),
)
