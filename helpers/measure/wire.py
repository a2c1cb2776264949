"""How results travel between processes: as plain data. Unpacking keeps to limits, and never runs
what came.

A packed scalar is what marshal makes of it. A list, tuple or dict is a letter, its length, and its
packed values; an array is a letter, its size in bytes, its packed dtype and shape, and its bytes. A
parcel is a packed value in pieces, each with its length in front, in 4 bytes; an empty piece ends
it. child.py loads this file by path: it imports nothing of the package, and numpy only where there
is an array.
"""

import builtins
import io
import marshal
import math
import operator
import struct
import sys

# a measured function may change the builtins, and its result is packed after that
__builtins__ = vars(builtins).copy()
# containers in containers; values in all; dimensions of an array
DEPTH = 100
NODES = 2**20
DIMENSIONS = 32
PIECE = 2**16  # bytes
SAME_HASH = 100  # keys of a dict
LONGEST_DTYPE = 10_000  # characters
SCALARS = (type(None), bool, int, float, complex, str, bytes)
OF_SCALARS = (*b"NTFilgyus",)  # what marshal begins these with; what begins otherwise may be code
LETTERS = {list: b"L", tuple: b"P", dict: b"D"}
dumps = marshal.dumps  # the function may change marshal
HEAD = struct.Struct("<cI")


class Refused(Exception):
    """Why a value isn't sent."""


class Box:
    """Takes a value's bytes, up to `most`, and passes them on in pieces: as a whole they would
    count as the measured function's memory, even those of a result that turns out to be too large.
    `write` makes it a file for pickle.
    """

    def __init__(self, most: int, pass_on):
        self.most, self.pass_on = most, pass_on
        self.size = self.nodes = 0
        self.piece = bytearray()

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
    if kind in SCALARS:
        large = kind is str or kind is bytes
        box.room_for(value.bit_length() // 8 if kind is int else len(value) if large else 0)
        box.write(dumps(value, 2))
    elif kind in (list, tuple, dict):
        if not depth:
            raise Refused(f"nests containers more than {DEPTH} deep")
        box.write(HEAD.pack(LETTERS[kind], len(value)))
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
    letter = b"A" if isinstance(value, numpy.ndarray) else b"V"
    array = numpy.asarray(value)
    box.room_for(array.nbytes)  # a broadcast array counts in full: nothing has been copied so far
    dtype = array.dtype.descr if array.dtype.names else array.dtype.str
    if array.dtype.hasobject or not array.dtype.itemsize or numpy.dtype(dtype) != array.dtype:
        raise Refused(f"is or holds an array of {array.dtype}, which is not plain data")
    box.write(HEAD.pack(letter, array.nbytes))
    pack(dtype, box, depth)
    pack(array.shape, box, depth)
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
    if rest := reader.read():
        raise ValueError(f"{len(rest):,} bytes after the end of the value")
    return value


class _Reader(io.BytesIO):
    nodes = 0

    def take(self, length: int) -> bytes:
        data = self.read(length)
        if len(data) < length:
            raise ValueError(f"{length:,} bytes announced, {len(data):,} left")
        return data

    def value(self, depth: int):
        self.nodes += 1
        if self.nodes > NODES or depth < 0:
            raise ValueError(
                f"more than {NODES:,} values, or containers nested more than {DEPTH} deep"
            )
        if self.getbuffer()[self.tell()] in OF_SCALARS:
            return marshal.load(self)
        letter, length = HEAD.unpack(self.take(HEAD.size))
        match letter:
            case b"L":
                return [self.value(depth - 1) for _ in range(length)]
            case b"P":
                return tuple([self.value(depth - 1) for _ in range(length)])
            case b"D":
                pairs = [(self.value(depth - 1), self.value(depth - 1)) for _ in range(length)]
                # Keys that were made to collide would take longer and longer to insert.
                hashes = sorted(hash(key) for key, _ in pairs)
                if any(map(operator.eq, hashes, hashes[SAME_HASH:])):
                    raise ValueError("too many keys with the same hash")
                return dict(pairs)
            case b"A":
                return self.array(length, depth)
            case b"V":
                return self.array(length, depth)[()]
        raise ValueError(f"no type has the letter {letter!r}")

    def array(self, length: int, depth: int):
        import numpy as np

        fields = self.value(depth - 1)
        shape = self.value(depth - 1)
        data = self.take(length)
        # of millions of fields, numpy takes minutes to make a dtype
        if len(str(fields)) > LONGEST_DTYPE:
            raise ValueError(f"no array of {fields!s:.80}…: at most {LONGEST_DTYPE:,} characters")
        dtype = np.dtype(fields)
        if dtype.hasobject or not dtype.itemsize or not fits(shape, len(data) / dtype.itemsize):
            raise ValueError(f"no array of {dtype}: shape {shape!r:.80} in {len(data):,} bytes")
        return np.ndarray(shape, dtype, data).copy()


def fits(shape, elements: float) -> bool:
    if not isinstance(shape, tuple) or len(shape) > DIMENSIONS:
        return False
    return all(type(n) is int and n >= 0 for n in shape) and math.prod(shape) == elements
