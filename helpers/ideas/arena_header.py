"""The first 128 bytes of an arena (arena.py): what it is, for which program, built from what, and how long it must be.

0   magic       says what this is; bytes above 127 and a line end show a file that went through as text
8   order       0x01020304 in the writer's byte order
12  version     of this header: what stands before it stays where it is in every version
16  layout      CRC-32 of the words that the program describes its data with
20  body        CRC-32 of all bytes after the header
24  size        bytes of the file
32  root        offset at which to begin
40  origin      a length and at most 64 bytes
124 own         CRC-32 of the 124 bytes before
"""

import os
import struct
import zlib
from dataclasses import astuple, dataclass
from typing import ClassVar

MAGIC, ORDER, VERSION = b"\x89arena\r\n", 0x01020304, 1
FORMAT = struct.Struct("=8s4I2Q65p19xI")
AGAIN = "delete it, and build it again"


class SnapshotError(ValueError):
    """A file that cannot be used as this snapshot."""


class ForeignSnapshot(SnapshotError):
    """No arena, or one of a machine with the other byte order: not ours to replace."""


class StaleSnapshot(SnapshotError):
    """An arena of another version, for another layout, or built from something else: to be built anew."""


class DamagedSnapshot(SnapshotError):
    """An arena that is not as it was written."""


@dataclass(frozen=True)
class Header:
    """What is written there, in this order, between version and own; 0 where it is not known yet."""

    layout: int
    body: int = 0
    size: int = 0
    root: int = 0
    origin: bytes = b""

    SIZE: ClassVar[int] = FORMAT.size

    @classmethod
    def of(cls, layout: str, origin: bytes) -> "Header":
        """ValueError for an origin of more than 64 bytes."""
        if len(origin) > 64:
            raise ValueError(f"an origin has at most 64 bytes, not {len(origin)}: give a hash of it")
        return cls(zlib.crc32(layout.encode()), origin=origin)

    def pack(self) -> bytes:
        head = FORMAT.pack(MAGIC, ORDER, VERSION, *astuple(self), 0)[:-4]
        return head + struct.pack("=I", zlib.crc32(head))


def read_header(head: bytes, path: str | os.PathLike[str], size: int, layout: str, origin: bytes | None) -> Header:
    """The header in the first bytes of a file of `size` bytes: as it was written, for this layout, from this origin.

    ForeignSnapshot, DamagedSnapshot or StaleSnapshot where not.
    """
    begin = head[: len(MAGIC)]
    if not MAGIC.startswith(begin):
        raise ForeignSnapshot(f"{path} is no arena: it begins with {begin}, not with {MAGIC}; use another name")
    if len(head) < FORMAT.size:
        raise DamagedSnapshot(f"{path} was cut short: {size} bytes, and a header has {FORMAT.size}; {AGAIN}")
    _, order, version, *found, own = FORMAT.unpack(head)
    if order == int.from_bytes(ORDER.to_bytes(4, "little"), "big"):
        raise ForeignSnapshot(f"{path} is of a machine with the other byte order: build one here, by another name")
    if version != VERSION:
        raise StaleSnapshot(f"{path} has version {version}, and this program reads {VERSION}: build it again")
    if own != zlib.crc32(head[:-4]):
        raise DamagedSnapshot(f"{path}: a byte of the header changed; {AGAIN}")
    header = Header(*found)
    if header.size != size:
        raise DamagedSnapshot(f"{path} has {size} bytes, and {header.size} were written; {AGAIN}")
    if header.layout != Header.of(layout, b"").layout:
        raise StaleSnapshot(f"{path} has another layout than {layout!r}: build it again")
    if origin not in (None, header.origin):
        raise StaleSnapshot(f"{path} was built from {header.origin}, and this is {origin}: build it again")
    return header
