"""SavedHeap: objects that refer to each other by address, kept in a file, mapped again at the same
address. See add().

A malloc over a mapping. Every object is a pair of 8-byte words: a number, and the address of
another pair, or 0. The pairs are stored as they are in memory, addresses and all, so a later
process can follow them without a single change, as long as the file is mapped exactly where it was
when the pairs were made. Mapped anywhere else, every address points past the mapping: at nothing
(SIGSEGV), or at something else. arena.py has the cure, offsets.

    0     magic, the address at which the file wants to be mapped, and the bytes in use: three words
    24    the pairs, one after the other
"""

import ctypes
import errno
import mmap
import os
import struct
from collections.abc import Iterator
from typing import Self

from ..libc import map_pages, unmap_pages
from ..safe_files import whole_file
from ..units import in_words
from .carts import Closing

# 448 GiB: below every stack and library on Linux, even with addresses of 39 bits
AT = 0x70_0000_0000
MAGIC = b"saved  1"
HEADER = struct.Struct("<8sQQ")
PAIR = struct.Struct("<qQ")


class SavedHeap(Closing):
    """A heap file, mapped at `base`. Use it in a `with`: close() unmaps it, and every address in it
    is dead. Its pairs were made at the address `home`; follow() is safe only where both are the
    same.
    """

    def __init__(self, path: str | os.PathLike[str], base: int, size: int) -> None:
        self.path, self.base, self.size = path, base, size

    @classmethod
    def create(cls, path: str | os.PathLike[str], size: int, at: int = AT) -> Self:
        """A new heap of `size` bytes, mapped at `at`. Errors as for open(), and ValueError if it's
        too small. If it can't be mapped there, no file is made, and an old heap stays as it is.
        """
        if size < HEADER.size + PAIR.size:
            raise ValueError(
                f"a heap of {size} bytes has no room for a pair: take {HEADER.size + PAIR.size} or "
                "more"
            )
        cls(path, _map_at(at, -1, size), size).close()  # a trial
        with whole_file(path, size) as file:
            file.write(HEADER.pack(MAGIC, at, HEADER.size))
            # not sparse: a store that finds no room would be SIGBUS
            file.write(bytes(size - HEADER.size))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], at: int | None = None) -> Self:
        """Maps the heap at its own address, or at another address, `at`, where its pairs are
        broken. mmap(2). FileExistsError if something else is mapped there already, or no mapping
        may be there; ValueError if the file isn't a heap, or was cut, or `at` isn't the beginning
        of a page; OSError if it can't be opened or mapped.
        """
        with open(path, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or not head.startswith(MAGIC):
                raise ValueError(
                    f"{os.fspath(path)} isn't a saved heap: it begins with {head[:8]!r}, not "
                    f"{MAGIC!r}"
                )
            _, home, used = HEADER.unpack(head)
            if not HEADER.size <= used <= size or (used - HEADER.size) % PAIR.size:
                raise ValueError(
                    f"{os.fspath(path)} is damaged: {used} of its {size} bytes are said to be "
                    "in use"
                )
            return cls(path, _map_at(home if at is None else at, file.fileno(), size), size)

    @property
    def home(self) -> int:
        return self._header()[1]

    @property
    def last(self) -> int:
        """The address at which the pair that was added last is mapped now; 0 if there is none."""
        used = self._header()[2]
        return self.base + used - PAIR.size if used > HEADER.size else 0

    def add(self, number: int, to: int = 0) -> int:
        """Places a pair behind the others and returns its address. `to` is the address of another
        pair, or 0. MemoryError if the heap is full; struct.error for a number that needs more than
        64 bits.
        """
        magic, home, used = self._header()
        if used + PAIR.size > self.size:
            raise MemoryError(
                f"the heap is full: {in_words(used, 'bytes')} of {in_words(self.size, 'bytes')} "
                "in use"
            )
        ctypes.memmove(self.base + used, PAIR.pack(number, to), PAIR.size)
        ctypes.memmove(self.base, HEADER.pack(magic, home, used + PAIR.size), HEADER.size)
        return self.base + used

    def close(self) -> None:
        """munmap(2). Afterwards nothing at the heap's addresses can be touched."""
        if self.base:
            unmap_pages(self.base, self.size)
            self.base = 0

    def _header(self) -> tuple[bytes, int, int]:
        if not self.base:
            raise ValueError(f"{os.fspath(self.path)} is closed")
        return HEADER.unpack(ctypes.string_at(self.base, HEADER.size))


def follow(address: int) -> Iterator[int]:
    """The numbers from a pair on, along the addresses. Whatever is there, it takes for a pair."""
    while address:
        number, address = PAIR.unpack(ctypes.string_at(address, PAIR.size))
        yield number


def _map_at(address: int, descriptor: int, size: int) -> int:
    """Maps the file there, shared, or nowhere: MAP_FIXED would destroy what is mapped there, so
    it's only a hint. If the descriptor is -1, the pages belong to no file.
    """
    if address <= 0 or address % mmap.PAGESIZE:
        raise ValueError(
            f"{address:#x} isn't an address where a page begins: take a multiple of "
            f"{mmap.PAGESIZE:,}"
        )
    flags = mmap.MAP_SHARED if descriptor >= 0 else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    got = map_pages(size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, address)
    if got != address:
        unmap_pages(got, size)
        why = "something is there already, or no mapping may be"
        raise FileExistsError(errno.EEXIST, f"the kernel didn't map it at {address:#x}: {why}")
    return address
