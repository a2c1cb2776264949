"""The rules of safetensors: what must be true of a file before you look at a byte of its data.

A file is 8 bytes, the length N of the header (unsigned, little-endian); N bytes, the header; and
the data:

    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …, "__metadata__": {"key":
    "value", …}}

Offsets count from the start of the data. Anybody may have written the header, so the reader trusts
nothing in it unchecked: no number from it locates a byte or sizes an allocation before a rule has
bounded that number.

Format: https://github.com/safetensors/safetensors. The rules and their order are the reference
implementation's, but this reader is stricter. The format's description forbids some things that the
reference lets pass and this reader doesn't: white space before the "{", a duplicate name, undefined
fields (they might change what the bytes mean), null for "__metadata__", and lists or objects in the
wrong place. It also refuses shapes that no numpy array can have: more than 64 dimensions, or a 0
among dimensions whose product overflows.
"""

import json
import math
import mmap
import reprlib
from collections import Counter
from collections.abc import Mapping
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Self

import numpy as np

Buffer = bytes | bytearray | memoryview | mmap.mmap

LONGEST = 100_000_000
# bytes; check_outline counts the marks in longer headers before json makes objects of them
LONG = 2**20
LIMIT = 2**64
METADATA = "__metadata__"
three_fields = itemgetter("dtype", "shape", "data_offsets")
LONGEST_SHOWN = 160
SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 80
SHORT.maxlevel = 3  # six lists of six lists of six

# Bits per element, in the reference implementation's order. Its writer stores the last dtypes
# first.
BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}

RULES = {
    "too short": "a file begins with 8 bytes that give the length of its header",
    "header too long": f"a header has at most {LONGEST:,} bytes",
    "header beyond file": "the header lies inside the file",
    "not an object": "the header begins with {, and nothing comes before it",
    "not UTF-8": "the header is UTF-8 text, and so is every name in it",
    "not JSON": "the header is JSON",
    "duplicate key": "no name occurs twice in an object",
    "metadata": f"{METADATA} is an object of strings",
    "fields": "a tensor is an object with dtype, shape and data_offsets, and nothing else",
    "dtype": f"a dtype is one of {', '.join(BITS)}",
    "shape": "a shape is a list of at most 64 whole numbers, from 0 to 2**64 - 1",
    "offsets": "data_offsets is a list of two whole numbers, from 0 to 2**64 - 1",
    "hole or overlap": "each tensor begins where the previous tensor ends, the first at 0",
    "end before begin": "no tensor ends before it begins",
    "overflow": "a tensor takes less than 2**64 bits, even if dimensions of 0 don't count",
    "part of a byte": "a tensor is a whole number of bytes",
    "wrong size": "a tensor has exactly the bytes that its shape and dtype need",
    "file length": "the last tensor ends where the file ends",
}

INDEX_RULES = {
    "index": 'an index is a JSON object; "weight_map" maps tensor names to file names',
    "shard": "the files of an index lie in its folder, or below it",
    "missing": "every tensor is in the file that the index names",
}


class SafetensorsError(ValueError):
    """The file breaks a rule: `rule` is a key of RULES or INDEX_RULES, and `saw` says what's there
    instead.
    """

    def __init__(self, rule: str, saw: str, tensor: str | None = None, path: Any = None) -> None:
        super().__init__(rule, saw, tensor, path)
        self.rule, self.saw, self.tensor, self.path = rule, saw, tensor, path

    def __str__(self) -> str:
        where = f"{self.path}: " * (self.path is not None)
        which = f"tensor {shown(self.tensor)}: " * (self.tensor is not None)
        return f"{where}{which}{self.saw}; but {(RULES | INDEX_RULES)[self.rule]}"

    def of(self, path: Any) -> Self:
        """This error, now about the file at `path`, without its traceback, which would keep the
        file mapped.
        """
        self.path = path
        self.args = (self.rule, self.saw, self.tensor, path)
        self.__context__ = None
        return self.with_traceback(None)


class Entry(NamedTuple):
    """A tensor in a file. `begin` and `end` count bytes from the start of the file, not of the
    data.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """A checked header: the tensors in file order, and `size`, the number of bytes before the
    data.
    """

    entries: dict[str, Entry]
    metadata: dict[str, str]
    size: int


def read_header(data: Buffer, size: int | None = None) -> Header:
    """The header of a file. `data` is the whole file, or just its beginning if you pass the file's
    length as `size`. SafetensorsError names the first broken rule; ValueError if `data` ends before
    the header does.
    """
    view = memoryview(data).cast("B")
    size = len(view) if size is None else size
    if size < 8:
        raise SafetensorsError("too short", f"it has {size} bytes")
    length = int.from_bytes(view[:8], "little")
    start = 8 + length
    if length > LONGEST:
        raise SafetensorsError("header too long", f"the first 8 bytes say {length:,}")
    if start > size:
        raise SafetensorsError(
            "header beyond file",
            f"the first 8 bytes say {length:,}, and {size - 8:,} bytes follow",
        )
    if start > len(view):
        raise ValueError(
            f"the header ends at byte {start:,}: pass that many bytes, not {len(view):,}"
        )
    header = view[8:start]
    if len(header) > LONG:
        check_outline(header)
    table = parsed(header)
    metadata = strings(table.pop(METADATA, ()))
    entries = [entry(name, pairs, start) for name, pairs in table.items()]
    entries.sort(key=attrgetter("begin", "end"))
    check_layout(entries, start, size)
    return Header({entry.name: entry for entry in entries}, metadata, start)


def head_of(
    tensors: Mapping[str, tuple[str, tuple[int, ...]]],
    metadata: Mapping[str, str] | None = None,
    odd: int = 0,
) -> tuple[bytes, dict[str, int]]:
    """What the reference writer puts before the data, and the size of each tensor in bytes, in file
    order. `tensors`: dtype and shape by name. `odd`: by how many bytes the data begins past a
    multiple of 8.
    """
    ranks = {dtype: rank for rank, dtype in enumerate(BITS)}
    order = sorted(tensors, key=lambda name: (-ranks[tensors[name][0]], name))
    table: dict[str, Any] = {} if metadata is None else {METADATA: dict(metadata)}
    sizes, end = {}, 0
    for name in order:
        dtype, shape = tensors[name]
        sizes[name] = BITS[dtype] * math.prod(shape) // 8
        begin = end
        end = end + sizes[name]
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": (begin, end)}
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * ((odd - len(text)) % 8)
    return len(text).to_bytes(8, "little") + text, sizes


def check_outline(header: memoryview) -> None:
    """Counts the marks in a long header before json parses it: nested lists take 40 times the
    memory of their text.

    Outside its strings, a header has an object, two lists, four colons, and at most 64 commas in
    the lists for each tensor. It has one more object, or two with metadata. Objects have fewer
    commas than colons. Any other header breaks the "fields" rule, and perhaps an earlier rule too.
    """
    text = bytes(header).replace(rb"\\", b"").replace(rb"\"", b"")  # drops escaped quotation marks
    codes = np.frombuffer(text, np.uint8)
    outside = ~np.logical_xor.accumulate(codes == ord('"'))
    objects, lists, colons, commas = (
        np.count_nonzero(outside & (codes == ord(mark))) for mark in "{[:,"
    )
    tensors = lists // 2
    fits = lists % 2 == 0 and 0 <= objects - tensors - 1 <= 1
    if not fits or colons < 4 * tensors or commas > colons + 64 * tensors:
        saw = (
            f"its {len(header):,} bytes hold {objects:,} objects, {lists:,} lists and {commas:,} "
            "commas"
        )
        raise SafetensorsError("fields", saw)


class Odd(str):
    """A number with a point or an exponent, NaN or Infinity, as written: neither an int nor a plain
    str.
    """

    __repr__ = str.__str__


# If a name occurs twice, Python's json keeps the last value, unless objects become tuples of pairs.
JSON = json.JSONDecoder(object_pairs_hook=tuple, parse_float=Odd, parse_constant=Odd)


def parsed(header: memoryview) -> dict[str, Any]:
    if header[:1] != b"{":
        raise SafetensorsError("not an object", f"it begins with {bytes(header[:8])}")
    try:
        text = str(header, "utf-8")
        pairs = JSON.decode(text)
        if "\\u" in text:  # an escape can name a lone surrogate, which UTF-8 can't encode
            json.dumps(pairs, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise SafetensorsError("not UTF-8", str(error)) from None
    except RecursionError:
        raise SafetensorsError("not JSON", "it is nested too deep") from None
    except ValueError as error:  # also for a number of more than 4,300 digits
        raise SafetensorsError("not JSON", str(error).partition(";")[0]) from None
    return once(pairs)


def once(pairs: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise SafetensorsError("duplicate key", f"{shown(twice)} does")
    return table


def strings(pairs: Any) -> dict[str, str]:
    if type(pairs) is not tuple:
        raise SafetensorsError("metadata", f"it is {shown(pairs)}")
    metadata = once(pairs)
    for key, value in metadata.items():
        if type(value) is not str:
            raise SafetensorsError("metadata", f"its {shown(key)} is {shown(value)}")
    return metadata


def entry(name: str, pairs: Any, start: int) -> Entry:
    """Checks what the header says about one tensor, field by field."""
    try:
        dtype, shape, offsets = three_fields(
            dict(pairs if type(pairs) is tuple and len(pairs) == 3 else ())
        )
    except KeyError:
        raise SafetensorsError("fields", f"it is {shown(pairs)}", name) from None
    if type(dtype) is not str or dtype not in BITS:
        raise SafetensorsError("dtype", f"its dtype is {shown(dtype)}", name)
    if not whole_numbers(shape) or len(shape) > 64:
        raise SafetensorsError("shape", f"its shape is {shown(shape)}", name)
    if not whole_numbers(offsets) or len(offsets) != 2:
        raise SafetensorsError("offsets", f"its data_offsets are {shown(offsets)}", name)
    begin, end = offsets
    return Entry(name, dtype, tuple(shape), start + begin, start + end)


def whole_numbers(value: Any) -> bool:
    if type(value) is not list:
        return False
    for number in value:  # noqa: SIM110  all() would take twice as long
        # type, because isinstance takes True for an int
        if type(number) is not int or not 0 <= number < LIMIT:
            return False
    return True


def check_layout(entries: list[Entry], start: int, size: int) -> None:
    """Checks tensor after tensor, in file order: each fills its place, and together they fill the
    file.
    """
    place = start
    for name, dtype, shape, begin, end in entries:
        if begin != place:
            raise SafetensorsError(
                "hole or overlap", f"it begins at {begin - start}, not {place - start}", name
            )
        if end < begin:
            raise SafetensorsError(
                "end before begin", f"it goes from {begin - start} to {end - start}", name
            )
        bits = BITS[dtype] * math.prod(shape)
        if (bits or math.prod(filter(None, shape)) * BITS[dtype]) >= LIMIT:
            raise SafetensorsError("overflow", f"its shape is {shown(shape)}", name)
        if bits % 8:
            raise SafetensorsError(
                "part of a byte", f"{dtype} of shape {shown(shape)} takes {bits} bits", name
            )
        if end - begin != bits // 8:
            needed = f"{dtype} of shape {shown(shape)} needs {bits // 8}"
            raise SafetensorsError("wrong size", f"it has {end - begin} bytes, {needed}", name)
        place = end
    if place != size:
        raise SafetensorsError(
            "file length", f"the last tensor ends at byte {place:,}, the file at {size:,}"
        )


def shown(value: Any) -> str:
    """A value for a message, shortened: it may be a name of 100 MB, or a list a thousand lists
    deep.
    """
    text = SHORT.repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
