"""The first 128 bytes of an arena (arena.py): what it is, who can read it, what it was built from, how long it must be.

0   magic       marks an arena; its byte above 127 and its line end reveal a file that was transferred as text
8   order       0x01020304 in the writer's byte order
12  version     of this header; the fields before it keep their places in every version
16  layout      CRC-32 of the program's description of its data
24  size        of the file, in bytes
32  root        offset of the array to begin with
40  origin      a length and at most 64 bytes
124 own         CRC-32 of the 124 bytes before it
"""

import os
import struct
import zlib
from dataclasses import astuple, dataclass
from typing import ClassVar

MAGIC, ORDER, VERSION = b"\x89arena\r\n", 0x01020304, 2
FORMAT = struct.Struct("=8s3I4x2Q65p19xI")
AGAIN = "delete it and build it again"


class SnapshotError(ValueError):
    """The file can't be used as this snapshot."""


class ForeignSnapshot(SnapshotError):
    """Not an arena, or an arena from a machine with the other byte order: not ours to replace."""


class StaleSnapshot(SnapshotError):
    """An arena of another version or layout, or built from something else: build it again."""


class DamagedSnapshot(SnapshotError):
    """An arena that changed after it was written."""


@dataclass(frozen=True)
class Header:
    """The fields between version and own, in this order; 0 until they're known."""

    layout: int
    size: int = 0
    root: int = 0
    origin: bytes = b""

    SIZE: ClassVar[int] = FORMAT.size

    @classmethod
    def of(cls, layout: str, origin: bytes) -> "Header":
        """The header to begin with. ValueError if `origin` has more than 64 bytes."""
        if len(origin) > 64:
            raise ValueError(f"an origin has at most 64 bytes, not {len(origin)}: pass a hash of it")
        return cls(zlib.crc32(layout.encode()), origin=origin)

    def pack(self) -> bytes:
        head = FORMAT.pack(MAGIC, ORDER, VERSION, *astuple(self), 0)[:-4]
        return head + struct.pack("=I", zlib.crc32(head))


def read_header(head: bytes, path: str | os.PathLike[str], size: int, layout: str, origin: bytes | None) -> Header:
    """The header in `head`, the first bytes of a file of `size` bytes.

    Raises ForeignSnapshot or DamagedSnapshot; StaleSnapshot if the version, layout or origin is another.
    """
    begin = head[: len(MAGIC)]
    if not MAGIC.startswith(begin):
        raise ForeignSnapshot(f"{path} isn't an arena: it begins with {begin}, not {MAGIC}; use another name")
    if len(head) < FORMAT.size:
        raise DamagedSnapshot(f"{path} was cut short: it has {size} bytes, and the header alone {FORMAT.size}; {AGAIN}")
    _, order, version, *fields, own = FORMAT.unpack(head)
    if order == int.from_bytes(ORDER.to_bytes(4, "little"), "big"):
        raise ForeignSnapshot(f"{path} is from a machine with the other byte order: build yours under another name")
    if version != VERSION:
        raise StaleSnapshot(f"{path} has version {version}, and this program reads {VERSION}: build it again")
    if own != zlib.crc32(head[:-4]):
        raise DamagedSnapshot(f"{path}: its header changed after it was written; {AGAIN}")
    header = Header(*fields)
    if header.size != size:
        raise DamagedSnapshot(f"{path} has {size} bytes, but {header.size} were written; {AGAIN}")
    if header.layout != Header.of(layout, b"").layout:
        raise StaleSnapshot(f"{path} doesn't have the layout {layout!r}: build it again")
    if origin not in (None, header.origin):
        raise StaleSnapshot(f"{path} was built from {header.origin}, not {origin}: build it again")
    return header
