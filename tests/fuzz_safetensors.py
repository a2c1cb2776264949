"""Compares the reader in helpers.ideas with the reference, the safetensors package: `make fuzz`,
for a minute.

Both must accept the same files, apart from DIFFERENCES and LENIENT, and find the same names,
dtypes, shapes and bytes. `python tests/fuzz_safetensors.py 600 7` runs for ten minutes, from seed
7.
"""

import json
import math
import re
import sys
import time
from collections import Counter
from random import Random

from safetensors import SafetensorError, deserialize
from test_safetensors import file_of

from helpers.ideas.tensor_header import BITS, SafetensorsError, check_outline, read_header

Contents = dict[str, tuple[str, list[int], bytes]]


def one(**fields: object) -> dict[str, object]:
    """A header with one tensor of one byte; `fields` replaces some of its fields."""
    return {"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]} | fields}


def twice(text: bytes) -> bytes:
    return b"{" + text + b"," + text + b"}"


# What the reference accepts and this reader refuses. By the rule that this reader names: why, and
# files that show it.
DIFFERENCES = {
    "not an object": (
        (
            "the description says that a header begins with {, so that a file can be told by its "
            "ninth byte"
        ),
        [file_of(b" {}"), file_of(b"\n{}")],
    ),
    "duplicate key": (
        "the description forbids it, and readers differ in which of the two they take",
        [
            file_of(twice(json.dumps(one()).encode()[1:-1]), b"x"),
            file_of(b'{"__metadata__":{"a":"1","a":"2"}}'),
        ],
    ),
    "metadata": ("the description shows an object, not null", [file_of({"__metadata__": None})]),
    "fields": (
        (
            "a field that nobody has defined may change what the bytes mean; and the description "
            "shows an object, no list"
        ),
        [file_of(one(order="F"), b"x"), file_of({"a": ["U8", [1], [0, 1]]}, b"x")],
    ),
    "dtype": (
        "the description shows a string, no object",
        [file_of(one(dtype={"U8": None}), b"x")],
    ),
    "shape": (
        "numpy has no array of more than 64 dimensions",
        [file_of(one(shape=[1] * 65), b"x")],
    ),
    "overflow": (
        "numpy multiplies the dimensions other than 0 and finds no room, wherever the 0 stands",
        [file_of(one(shape=[0, 2**63, 2**63], data_offsets=[0, 0]))],
    ),
}
# What this reader accepts and the reference refuses: why, and how to recognise it.
LENIENT = {
    "-0": (
        "a whole number in JSON and in Python; the reference takes it for a float",
        re.compile(rb"-0[\s,\]]"),
    ),
}


def reference(data: bytes) -> Contents | None:
    """What the reference finds in a file, by name; None if it refuses it."""
    try:
        return {
            name: (it["dtype"], it["shape"], bytes(it["data"])) for name, it in deserialize(data)
        }
    except SafetensorError:
        return None


def compare(data: bytes) -> str:
    """Returns "accepted", "refused", or the name of an intended difference. AssertionError for any
    other difference.
    """
    expected = reference(data)
    try:
        header = read_header(data)
    except SafetensorsError as error:
        assert str(error) and (expected is None or error.rule in DIFFERENCES), f"{error}\n{data!r}"
        return "refused" if expected is None else error.rule
    ends = [header.size, *(entry.end for entry in header.entries.values())]
    assert all(0 <= one.begin <= one.end <= len(data) for one in header.entries.values())
    assert ends[-1] == len(data)
    if expected is None:
        assert LENIENT["-0"][1].search(data), data
        return "-0"
    check_outline(memoryview(data)[8 : header.size])
    found = {
        e.name: (e.dtype, list(e.shape), data[e.begin : e.end]) for e in header.entries.values()
    }
    assert found == expected, data
    return "accepted"


PIECES = [
    *(bytes([byte]) for byte in b'{}[],:"0 \n\\'),
    b"1",
    b"-",
    b"-0",
    b".0",
    b"e1",
    b"null",
    b"true",
    b"NaN",
    b"\xff",
    b"\0",
    b"\\u0061",
    b"\\ud83d",
    b"18446744073709551615",
    b"18446744073709551616",
    b"4611686018427387904",
    b'"U8"',
    b'"F32"',
    b'"F4"',
    b'"x"',
    b'"dtype":"U8",',
    b'"shape":[0],',
    b'"data_offsets":[0,0],',
    b'"y":[[{}]],',
    b'"__metadata__":{"a":"b"},',
    b'"__metadata__":null,',
    b'"a":{"dtype":"I16","shape":[],"data_offsets":[0,2]},',
    "é😀".encode(),
    b"9" * 5000,
]
TOKEN = re.compile(rb'\d+|"[^"]*"|[^"\d]')
Edit = tuple[float, bool, bytes]


def edited(data: bytes, edits: list[Edit]) -> bytes:
    """`data` with tokens of its header replaced, or others inserted before them; its header's
    length is corrected.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end]
    for where, replace, piece in edits:
        tokens = list(TOKEN.finditer(header))
        if tokens:
            token = tokens[int(where * (len(tokens) - 1))]
            header = (
                header[: token.start()]
                + piece
                + header[token.end() if replace else token.start() :]
            )
    return file_of(header, data[end:])


def well_formed(
    tensors: list[tuple[str, str, list[int]]], metadata: dict[str, str] | None
) -> bytes:
    """A file of these tensors: name, dtype, shape."""
    header: dict[str, object] = {} if metadata is None else {"__metadata__": metadata}
    end = 0
    for name, dtype, shape in tensors:
        begin = end
        end = end + min(BITS[dtype] * math.prod(shape) // 8, 300)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    return file_of(header, (bytes(range(256)) * (end // 256 + 1))[:end])


def random_file(random: Random) -> bytes:
    """Edits change its header; bytes may change anywhere, even in the length and the data."""
    tensors = [
        (f"t{i}", random.choice(list(BITS)), random.choices(range(5), k=random.randrange(4)))
        for i in range(random.randrange(4))
    ]
    edits = [
        (random.random(), random.random() < 0.5, random.choice([b"", *PIECES]))
        for _ in range(random.choice([0, 1, 1, 2, 3]))
    ]
    data = edited(well_formed(tensors, random.choice([None, {}, {"k": "v"}])), edits)
    if random.random() < 0.2:
        at = random.randrange(len(data))
        data = data[:at] + random.randbytes(random.randrange(3)) + data[at + random.randrange(3) :]
    return data


def main(seconds: float = 60, seed: int = 0) -> None:
    random = Random(seed)
    seen = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen.update(compare(random_file(random)) for _ in range(1000))
    print(f"{seen.total():,} files, and no difference but the intended:")
    for what, times in seen.most_common():
        reason = (DIFFERENCES | LENIENT).get(what, [""])[0]
        print(f"{times:10,}  {what}{': ' * bool(reason)}{reason}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
