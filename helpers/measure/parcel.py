"""Plain data from another process, which may send anything: we rebuild it within limits, and never run any of it.

child.py packs it, and describes the format.
"""

import math
import struct
from typing import Any, BinaryIO

import numpy as np

from .child import DEPTH, NODES

DIMENSIONS = 32


def receive(stream: BinaryIO, most: int) -> bytes:
    """The next parcel. EOFError if it doesn't arrive whole, ValueError if it is longer than `most` bytes."""
    data = bytearray()
    while length := int.from_bytes(_exactly(stream, 4), "little"):
        if len(data) + length > most:
            raise ValueError(f"a parcel of more than {most:,} bytes")
        data += _exactly(stream, length)
    return bytes(data)


def unpacked(data: bytes) -> Any:
    """What a parcel holds. ValueError if that isn't plain data."""
    box = _Box(data)
    try:
        value = box.value(DEPTH)
    except Exception as error:
        raise ValueError(f"not packed plain data: {error}") from error
    if box.at != len(data):
        raise ValueError(f"{len(data) - box.at:,} bytes after the end of the value")
    return value


class _Box:
    def __init__(self, data: bytes):
        self.data, self.at, self.nodes = data, 0, NODES

    def take(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise ValueError(f"{length:,} bytes announced, {len(self.data) - self.at:,} left")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def value(self, depth: int) -> Any:
        self.nodes -= 1
        if self.nodes < 0 or depth < 0:
            raise ValueError(f"more than {NODES:,} values, or containers nested more than {DEPTH} deep")
        letter = self.take(1)
        match letter:
            case b"N":
                return None
            case b"T" | b"F":
                return letter == b"T"
            case b"i":
                return int.from_bytes(self.take(self.number()), "little", signed=True)
            case b"f":
                return struct.unpack("<d", self.take(8))[0]
            case b"c":
                return complex(*struct.unpack("<dd", self.take(16)))
            case b"b":
                return self.take(self.number())
            case b"s":
                return self.take(self.number()).decode("utf-8", "surrogatepass")
            case b"l":
                return [self.value(depth - 1) for _ in range(self.number())]
            case b"t":
                return tuple([self.value(depth - 1) for _ in range(self.number())])
            case b"d":
                return _dict([(self.value(depth - 1), self.value(depth - 1)) for _ in range(self.number())])
            case b"a":
                return self.array(depth)
            case b"n":
                return self.array(depth)[()]
        raise ValueError(f"no type has the letter {letter!r}")

    def array(self, depth: int) -> np.ndarray:
        dtype, shape, data = np.dtype(self.value(depth - 1)), self.value(depth - 1), self.take(self.number())
        sizes = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and len(shape) <= DIMENSIONS
        if dtype.hasobject or not dtype.itemsize or not sizes or math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(f"no array of {dtype}: shape {shape!r:.80} in {len(data):,} bytes")
        return np.ndarray(shape, dtype, data).copy()


def _dict(pairs: list[tuple]) -> dict:
    """Refuses keys that were made to collide: inserting them would take longer and longer."""
    if len({hash(key) for key, _ in pairs}) < len(pairs) // 2:
        raise ValueError("too many keys with the same hash")
    return dict(pairs)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the other end is gone")
    return data
