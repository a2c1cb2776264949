"""How results travel between processes: as plain data. Unpacking keeps to limits, and never runs
what came.

A packed value is a letter for its type, then the length if the type has one, then the contents. A
parcel is a packed value in pieces, each with its length in front, in 4 bytes; an empty piece ends
it. child.py loads this file by path: it imports nothing of the package, and numpy only where there
is an array.
"""

import builtins
import math
import struct
import sys

__builtins__ = vars(
    builtins
).copy()  # a measured function may change the builtins, and its result is packed after that
# containers in containers; values in all; dimensions of an array
DEPTH = 100
NODES = 2**20
DIMENSIONS = 32
PIECE = 2**16  # bytes
SAME_HASH = 100  # keys of a dict
LONGEST_DTYPE = 10_000  # characters


class Refused(Exception):
    """Why a value isn't sent."""


class Box:
    """Takes a value's bytes, up to `most`, and passes them on in pieces: as a whole they would
    count as the measured function's memory, even those of a result that turns out to be too large.
    `write` makes it a file for pickle.
    """

    def __init__(self, most: int, pass_on):
        self.most, self.pass_on, self.size, self.nodes, self.piece = (
            most,
            pass_on,
            0,
            0,
            bytearray(),
        )

    def room_for(self, size: int) -> None:
        if self.size + size > self.most:
            instead = "return what you need to know of it: a size, a sum, a digest"
            raise Refused(f"is larger than {self.most // 2**20} MiB; {instead}")

    def write(self, part) -> int:
        part = memoryview(part).cast("B")
        self.room_for(len(part))
        self.size += len(part)
        for at in range(0, len(part), PIECE):
            self.piece += part[at : at + PIECE]
            if len(self.piece) >= PIECE:
                self.flush()
        return len(part)

    def flush(self) -> None:
        if self.piece:
            self.pass_on(self.piece)
            self.piece = bytearray()


def packed(value, most: int = 2**20) -> bytearray:
    """Refused if the value isn't plain data, or takes more than `most` bytes."""
    whole = bytearray()
    box = Box(most, whole.extend)
    pack(value, box)
    box.flush()
    return whole


def pack(value, box: Box, depth: int = DEPTH) -> None:
    box.nodes += 1
    if box.nodes > NODES:
        raise Refused(f"holds more than {NODES:,} values; return an array, or only some of them")
    kind = type(value)
    numpy = sys.modules.get("numpy")
    if value is None or value is True or value is False:
        box.write({None: b"N", True: b"T", False: b"F"}[value])
    elif kind is int:
        length = value.bit_length() // 8 + 1
        box.room_for(length)
        box.write(struct.pack("<cQ", b"i", length) + value.to_bytes(length, "little", signed=True))
    elif kind is float:
        box.write(struct.pack("<cd", b"f", value))
    elif kind is complex:
        box.write(struct.pack("<cdd", b"c", value.real, value.imag))
    elif kind is str or kind is bytes:
        box.room_for(len(value))
        data = value if kind is bytes else value.encode("utf-8", "surrogatepass")
        box.write(struct.pack("<cQ", b"b" if kind is bytes else b"s", len(data)))
        box.write(data)
    elif kind is list or kind is tuple or kind is dict:
        if not depth:
            raise Refused(f"nests containers more than {DEPTH} deep")
        letter = b"l" if kind is list else b"t" if kind is tuple else b"d"
        box.write(struct.pack("<cQ", letter, len(value)))
        for part in value:
            pack(part, box, depth - 1)
            if kind is dict:
                pack(value[part], box, depth - 1)
    elif numpy and isinstance(value, (numpy.ndarray, numpy.generic)):
        pack_array(value, box, depth, numpy)
    else:
        plain = "None, numbers, str, bytes, lists, tuples, dicts, and numpy arrays without objects"
        rule = f"only plain data come back: {plain}; return what you need to know of it"
        raise Refused(f"is or holds a {kind.__name__}, and {rule}")


def pack_array(value, box: Box, depth: int, numpy) -> None:
    """An array of any class, or a scalar: its dtype, its shape, and its bytes in C order."""
    letter = b"a" if isinstance(value, numpy.ndarray) else b"n"
    array = numpy.asarray(value)
    box.room_for(array.nbytes)  # a broadcast array counts in full: nothing has been copied so far
    dtype = array.dtype.descr if array.dtype.names else array.dtype.str
    if array.dtype.hasobject or not array.dtype.itemsize or numpy.dtype(dtype) != array.dtype:
        raise Refused(f"is or holds an array of {array.dtype}, which is not plain data")
    box.write(letter)
    pack(dtype, box, depth)
    pack(array.shape, box, depth)
    box.write(struct.pack("<Q", array.nbytes))
    if array.flags.c_contiguous and array.size:
        box.write(array.reshape(-1).view(numpy.uint8))
        return
    # a copy of all of it would count as the function's memory
    step = max(1, PIECE // array.dtype.itemsize)
    for at in range(0, array.size, step):
        box.write(array.flat[at : at + step].tobytes())


def framed(piece) -> bytes:
    """A piece of a parcel as it travels; an empty piece ends the parcel."""
    return struct.pack("<I", len(piece)) + piece


def receive(stream, most: int) -> bytes:
    """The next parcel. EOFError if it doesn't arrive whole, ValueError if it is longer than `most`
    bytes.
    """
    data = bytearray()
    while len(head := stream.read(4)) == 4:
        length = int.from_bytes(head, "little")
        if not length:
            return bytes(data)
        if len(data) + length > most:
            raise ValueError(f"a parcel of more than {most:,} bytes")
        piece = stream.read(length)
        data += piece
        if len(piece) < length:
            break
    raise EOFError("the other end is gone")


def unpacked(data: bytes):
    """What a parcel holds. ValueError if that isn't plain data."""
    reader = _Reader(data)
    try:
        value = reader.value(DEPTH)
    except Exception as error:
        raise ValueError(f"not packed plain data: {error}") from error
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at:,} bytes after the end of the value")
    return value


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at, self.nodes = data, 0, 0

    def take(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise ValueError(f"{length:,} bytes announced, {len(self.data) - self.at:,} left")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def value(self, depth: int):
        self.nodes += 1
        if self.nodes > NODES or depth < 0:
            raise ValueError(
                f"more than {NODES:,} values, or containers nested more than {DEPTH} deep"
            )
        match letter := self.take(1):
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
                pairs = [
                    (self.value(depth - 1), self.value(depth - 1)) for _ in range(self.number())
                ]
                # Keys that were made to collide would take longer and longer to insert.
                hashes = sorted(hash(key) for key, _ in pairs)
                if any(
                    one == other for one, other in zip(hashes, hashes[SAME_HASH:], strict=False)
                ):
                    raise ValueError("too many keys with the same hash")
                return dict(pairs)
            case b"a":
                return self.array(depth)
            case b"n":
                return self.array(depth)[()]
        raise ValueError(f"no type has the letter {letter!r}")

    def array(self, depth: int):
        import numpy as np

        fields = self.value(depth - 1)
        shape = self.value(depth - 1)
        data = self.take(self.number())
        # of millions of fields, numpy takes minutes to make a dtype
        if len(str(fields)) > LONGEST_DTYPE:
            raise ValueError(
                f"no array of {fields!s:.80}…: a dtype has at most {LONGEST_DTYPE:,} characters "
                "here"
            )
        dtype = np.dtype(fields)
        sizes = (
            isinstance(shape, tuple)
            and all(type(n) is int and n >= 0 for n in shape)
            and len(shape) <= DIMENSIONS
        )
        if (
            dtype.hasobject
            or not dtype.itemsize
            or not sizes
            or math.prod(shape) * dtype.itemsize != len(data)
        ):
            raise ValueError(f"no array of {dtype}: shape {shape!r:.80} in {len(data):,} bytes")
        return np.ndarray(shape, dtype, data).copy()
