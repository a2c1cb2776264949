"""Arena: a snapshot of arrays in one file, which a later run maps and uses as it lies. `snapshot()` is the way in.

A heap that is written to a file and mapped again lies elsewhere, unless a program insists on the same address and finds
it free; elsewhere every pointer in it is wrong. Offsets are not: an arena refers to what it holds by its distance from
the file's first byte, and a mapping may begin where it likes.

    0     the header (arena_header.py), 128 bytes
    128   what was placed, each at a multiple of 64: an array as an .npy file holds it (numpy.lib.format), with its
          dtype and shape in front of its bytes
    root  the offset of the one that knows the offsets of the others

To open is to read the header, which takes the same time for every size; to look at an array is to check that it lies in
the file. Bytes that changed further on are found by verify() alone, because it has to read them all. The checksums are
against accidents, not against an opponent. What nothing here can find: a file that is cut short while it is mapped ends
the process that reads what is gone (SIGBUS); snapshot() never does that, because it writes another file and renames it.
"""

import io
import operator
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr, read_array_header_1_0, read_magic, write_array

from ..units import in_words
from ..whole import whole_file
from .arena_header import DamagedSnapshot, ForeignSnapshot, Header, SnapshotError, StaleSnapshot, read_header
from .carts import EmptyFile, MappedFile
from .yoke import Yoke

__all__ = ["Arena", "Builder", "DamagedSnapshot", "ForeignSnapshot", "SnapshotError", "StaleSnapshot", "snapshot"]

ALIGNMENT = 64  # a cache line, and more than any item asks for


class Builder:
    """What `Arena.create` hands out: place() one thing after another, and set `root` to the offset of one."""

    def __init__(self, file: BinaryIO) -> None:
        self.root, self.size, self.body, self._file = 0, Header.SIZE, 0, file

    def place(self, thing: Any) -> int:
        """Writes an array, or a record (a numpy scalar), and returns its offset. TypeError for objects: pointers."""
        array = np.asarray(thing)
        dtype = array.dtype
        if dtype.hasobject or not dtype.itemsize or descr_to_dtype(dtype_to_descr(dtype)) != dtype:
            raise TypeError(f"{dtype} cannot be placed: numpy's numbers, text (U, S) and records of them can")
        if isinstance(thing, np.ma.MaskedArray):
            raise TypeError("a MaskedArray cannot be placed: place its .data and its .mask")
        self.write(bytes(-self.size % ALIGNMENT))
        offset = self.size
        write_array(self, array, version=(1, 0), allow_pickle=False)
        return offset

    def write(self, data: bytes) -> None:  # what write_array calls
        self.size += self._file.write(data)
        self.body = zlib.crc32(data, self.body)


class Arena:
    """A snapshot, mapped by `Arena.open`. Views that were taken stay valid after close(), or the end of a `with`.

    root  offset of what was placed as the root
    size  bytes of the file
    """

    def __init__(self, path: str | os.PathLike[str], yoke: Yoke[memoryview, MappedFile], header: Header) -> None:
        self.path, self.root, self.size, self._body, self._yoke = path, header.root, header.size, header.body, yoke

    @staticmethod
    @contextmanager
    def create(path: str | os.PathLike[str], layout: str, origin: bytes = b"", size: int = 0) -> Iterator[Builder]:
        """A Builder, whose file becomes `path` when the block ends well, and vanishes when not.

        layout  describes what is placed; a program that changed this no longer opens what it wrote before
        origin  at most 64 bytes that identify what it is built from; ValueError if longer
        size    bytes that will be placed, if that is known: the free space is checked before
        """
        header = Header.of(layout, origin)
        with whole_file(path, Header.SIZE + size) as file:
            file.write(bytes(Header.SIZE))
            builder = Builder(file)
            yield builder
            file.seek(0)
            file.write(replace(header, body=builder.body, size=builder.size, root=builder.root).pack())

    @classmethod
    def open(cls, path: str | os.PathLike[str], layout: str, origin: bytes | None = None) -> "Arena":
        """Maps the snapshot and reads its header, whatever its size. An origin of None fits every snapshot.

        ForeignSnapshot, StaleSnapshot, DamagedSnapshot (each a SnapshotError); OSError if it cannot be opened.
        """
        try:
            yoke = Yoke.attach(MappedFile(path), memoryview)
        except EmptyFile:
            raise DamagedSnapshot(f"{path} is empty: delete it, and build it again") from None
        try:
            header = read_header(bytes(yoke.get()[: Header.SIZE]), path, yoke.size, layout, origin)
        except SnapshotError:
            yoke.release()
            raise
        return cls(path, yoke, header)

    def array(self, offset: int) -> np.ndarray:
        """A read-only view of what was placed at `offset`; DamagedSnapshot where nothing was. ValueError if closed."""
        lent, offset = self._yoke.get(), operator.index(offset)
        if not 0 <= offset < self.size or offset % ALIGNMENT:
            raise DamagedSnapshot(f"{self.path}, of {self.size} bytes, has nothing at offset {offset}")
        try:
            begin = offset + 10 + int.from_bytes(lent[offset + 8 : offset + 10], "little")  # .npy, version 1.0
            file = io.BytesIO(lent[offset:begin])
            read_magic(file)
            shape, by_column, dtype = read_array_header_1_0(file, 2**16)  # a record of many fields has a long one
            if dtype.hasobject:
                raise ValueError("it has pointers, and they lead nowhere")
            if not dtype.itemsize or min(shape, default=0) < 0:  # of (-1,) numpy makes room // itemsize, also for 0
                raise ValueError(f"{dtype} of shape {shape} has no size")
            return np.ndarray(shape, dtype, lent, begin, order="F" if by_column else "C")  # numpy sees that it fits
        except Exception as error:  # numpy meets bytes that nobody wrote, and has many ways to say so
            raise DamagedSnapshot(f"{self.path} has no array at offset {offset}: {error}") from None

    def verify(self) -> None:
        """Reads every byte; DamagedSnapshot if one is not as it was written. ValueError if closed."""
        with self._yoke.get()[Header.SIZE :] as body:
            if zlib.crc32(body) != self._body:
                raise DamagedSnapshot(f"{self.path} changed after its header: delete it, and build it again")

    def close(self) -> None:
        self._yoke.release()

    def __enter__(self) -> "Arena":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Arena({os.fspath(self.path)!r}, {in_words(self.size, 'bytes')})"


def snapshot(
    path: str | os.PathLike[str], layout: str, build: Callable[[Builder], None], origin: bytes = b"", size: int = 0
) -> Arena:
    """The arena at `path`; if there is none, or a stale one, `build(builder)` fills one first, which takes its place.

    What is foreign or damaged stays as it is, and is an error. Two processes may build at once: each writes a file of
    its own, and the last one stays; if that is one of another origin, the first builds again. The arguments are those
    of `Arena.create`. (Windows replaces no mapped file.)
    """
    while True:
        with suppress(FileNotFoundError, StaleSnapshot):
            return Arena.open(path, layout, origin)
        with Arena.create(path, layout, origin, size) as builder:
            build(builder)
