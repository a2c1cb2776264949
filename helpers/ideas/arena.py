"""Arena: a snapshot of arrays in one file, which a later run maps and uses in place. Start at
`snapshot()`.

Write a heap to a file and map it again, and it lands at another address, unless the program asks
for the old address and finds it free. At any other address every pointer in the heap is wrong.
Offsets stay right: an arena refers to an array by its distance from the file's first byte, so the
mapping may begin anywhere.

    0     the header: what the file is, who can read it, what it was built from, how long it must be
    0       magic    marks an arena; its byte above 127 and its line end reveal a file that was
            transferred as text
    8       order    0x01020304 in the writer's byte order
    12      version  of this header; the fields before it keep their places in every version
    16      layout   CRC-32 of the program's description of its data
    24      size     of the file, in bytes
    32      root     offset of the array that knows the offsets of the others
    40      origin   a length and at most 64 bytes
    124     own      CRC-32 of the 124 bytes before it
    128   the arrays, each at a multiple of 64 and stored as in an .npy file (numpy.lib.format):
          dtype and shape first, then the bytes

Opening reads the header alone, so it takes the same time at every size. Looking at an array checks
that it lies inside the file. Nobody checks the numbers in it: that would take reading them all. The
header's checksum guards against accidents, not attackers. Nothing here can guard against this: if
somebody truncates a file that is mapped, a process that reads the lost part dies (SIGBUS).
snapshot() never truncates: it writes a new file and renames it.
"""

import io
import operator
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import (
    descr_to_dtype,
    dtype_to_descr,
    read_array_header_1_0,
    read_magic,
    write_array,
)

from ..safe_files import whole_file
from ..units import in_words
from .carts import Closing, EmptyFile, MappedFile
from .yoke import Yoke

ALIGNMENT = 64  # a cache line, and more than any dtype needs
MAGIC, ORDER, VERSION = b"\x89arena\r\n", 0x01020304, 2
FORMAT = struct.Struct("=8s3I4x2Q65p19xI")
AGAIN = "delete it and build it again"


class SnapshotError(ValueError):
    """The file can't be used as this snapshot: it isn't an arena, or is damaged, or has the other
    byte order.
    """


class StaleSnapshot(SnapshotError):
    """An arena of another version or layout, or built from something else: build it again."""


class Builder:
    """Fills an arena: place() each array, then set `root` to the offset of the array to begin
    with.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.root, self._file = 0, file

    def place(self, thing: Any) -> int:
        """Writes an array or a record (a numpy scalar) and returns its offset. TypeError for
        objects (pointers).
        """
        array = np.asarray(thing)
        dtype = array.dtype
        if dtype.hasobject or not dtype.itemsize or descr_to_dtype(dtype_to_descr(dtype)) != dtype:
            raise TypeError(
                f"an arena can't hold {dtype}: place numbers, text (U, S), or records of them"
            )
        if isinstance(thing, np.ma.MaskedArray):
            raise TypeError("an arena can't hold a MaskedArray: place its .data and its .mask")
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        offset = self._file.tell()
        write_array(self, array, version=(1, 0), allow_pickle=False)
        return offset

    # write_array calls this; tofile() would lose the errno of a full disk
    def write(self, data: bytes) -> int:
        return self._file.write(data)


class Arena(Closing):
    """A snapshot, mapped by `Arena.open`. Views you took stay valid after close() or the end of a
    `with`.
    """

    def __init__(
        self, path: str | os.PathLike[str], yoke: Yoke[memoryview, MappedFile], root: int
    ) -> None:
        self.path = path
        self.root = root
        self.size = yoke.size
        self._yoke = yoke

    @staticmethod
    @contextmanager
    def create(
        path: str | os.PathLike[str], layout: str, origin: bytes = b"", size: int = 0
    ) -> Iterator[Builder]:
        """Yields a Builder. Its file becomes `path` when the block succeeds, and vanishes when the
        block fails. `layout` describes the data; once a program changes it, the snapshots from
        before no longer open. `origin` identifies the source of the data, in at most 64 bytes;
        ValueError if longer. `size` of the data, if known, is checked against the free space first.
        """
        if len(origin) > 64:
            raise ValueError(
                f"an origin has at most 64 bytes, not {len(origin)}: pass a hash of it"
            )
        with whole_file(path, FORMAT.size + size) as file:
            file.write(bytes(FORMAT.size))
            builder = Builder(file)
            yield builder
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            crc = zlib.crc32(layout.encode())
            head = FORMAT.pack(MAGIC, ORDER, VERSION, crc, size, builder.root, origin, 0)[:-4]
            file.write(head + struct.pack("=I", zlib.crc32(head)))

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], layout: str, origin: bytes | None = None
    ) -> "Arena":
        """Maps the snapshot and reads only its header. An origin of None matches any.
        SnapshotError, OSError.
        """
        try:
            yoke = Yoke.attach(MappedFile(path), memoryview)
        except EmptyFile:
            raise SnapshotError(f"{path} is empty: delete it and build it again") from None
        try:
            return cls(
                path,
                yoke,
                root_in(bytes(yoke.get()[: FORMAT.size]), path, yoke.size, layout, origin),
            )
        except SnapshotError:
            yoke.release()
            raise

    def array(self, offset: int) -> np.ndarray:
        """A read-only view of the array at `offset`. SnapshotError if there's none there;
        ValueError once closed.
        """
        lent = self._yoke.get()
        offset = operator.index(offset)
        if not 0 <= offset < self.size or offset % ALIGNMENT:
            raise SnapshotError(
                f"{self.path}, of {self.size} bytes, has nothing at offset {offset}"
            )
        try:
            # .npy, version 1.0
            begin = offset + 10 + int.from_bytes(lent[offset + 8 : offset + 10], "little")
            file = io.BytesIO(lent[offset:begin])
            read_magic(file)
            # a record's header can be long
            shape, by_column, dtype = read_array_header_1_0(file, 2**16)
            if dtype.hasobject:
                raise ValueError("it holds pointers, and they lead nowhere")
            # for numpy, -1 means as many as fit
            if not dtype.itemsize or min(shape, default=0) < 0:
                raise ValueError(f"{dtype} of shape {shape} has no size")
            # counted all the same: see carts.counted. numpy checks the size
            return np.ndarray(shape, dtype, lent, begin, order="F" if by_column else "C")
        except Exception as error:  # numpy has many ways to complain about bytes that nobody wrote
            raise SnapshotError(f"{self.path} has no array at offset {offset}: {error}") from None

    def close(self) -> None:
        self._yoke.release()

    def __repr__(self) -> str:
        return f"Arena({os.fspath(self.path)!r}, {in_words(self.size, 'bytes')})"


def snapshot(
    path: str | os.PathLike[str],
    layout: str,
    build: Callable[[Builder], None],
    origin: bytes = b"",
    size: int = 0,
) -> Arena:
    """Opens the arena at `path`. If it's missing or stale, `build(builder)` fills a new arena that
    takes its place. A foreign or damaged file raises and stays untouched. Two processes may build
    at once: the last to finish wins. The arguments are those of `Arena.create`. (Windows won't
    replace a mapped file.)
    """
    while True:
        with suppress(FileNotFoundError, StaleSnapshot):
            return Arena.open(path, layout, origin)
        with Arena.create(path, layout, origin, size) as builder:
            build(builder)


def root_in(
    head: bytes, path: str | os.PathLike[str], size: int, layout: str, origin: bytes | None
) -> int:
    """The root that a header names: `head`, the first bytes of a file of `size` bytes."""
    begin = head[: len(MAGIC)]
    if not MAGIC.startswith(begin):
        raise SnapshotError(
            f"{path} isn't an arena: it begins with {begin}, not {MAGIC}; use another name"
        )
    if len(head) < FORMAT.size:
        raise SnapshotError(
            f"{path} was cut short: it has {size} bytes, and the header alone {FORMAT.size}; "
            f"{AGAIN}"
        )
    _, order, version, its_layout, its_size, root, its_origin, own = FORMAT.unpack(head)
    if order == int.from_bytes(ORDER.to_bytes(4, "little"), "big"):
        raise SnapshotError(
            f"{path} is from a machine with the other byte order: build yours under another name"
        )
    if version != VERSION:
        raise StaleSnapshot(
            f"{path} has version {version}, and this program reads {VERSION}: build it again"
        )
    if own != zlib.crc32(head[:-4]):
        raise SnapshotError(f"{path}: its header changed after it was written; {AGAIN}")
    if its_size != size:
        raise SnapshotError(f"{path} has {size} bytes, but {its_size} were written; {AGAIN}")
    if its_layout != zlib.crc32(layout.encode()):
        raise StaleSnapshot(f"{path} doesn't have the layout {layout!r}: build it again")
    if origin not in (None, its_origin):
        raise StaleSnapshot(f"{path} was built from {its_origin}, not {origin}: build it again")
    return root
