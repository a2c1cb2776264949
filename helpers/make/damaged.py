"""Small safetensors files, each with one thing wrong, written by hand from the rules of the format.

Rules: https://github.com/huggingface/safetensors, section "Format", and the checks in its implementation.
"""

import struct
from types import MappingProxyType

from ..ideas.tensor_header import LONGEST

DATA = struct.pack("<2f", 1.0, 2.0)


def damaged(kind: str) -> bytes:
    """A file with this damage and no other; `damaged("none")` is well-formed. KeyError for an unknown kind.

    The well-formed file holds "weight", F32 of shape [2], with values [1, 2]. DAMAGES says how the others differ.
    """
    if kind not in FILES:
        raise KeyError(f"no damage {kind!r}; there are: {', '.join(FILES)}")
    return FILES[kind][1]


def _tensor(name: str = "weight", dtype: str = '"F32"', shape: str = "[2]", offsets: str = "[0,8]") -> str:
    return f'"{name}":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}'


def _file(*members: str, data: bytes = DATA) -> bytes:
    return _with_header("{" + ",".join(members) + "}", data)


def _with_header(text: str, data: bytes = DATA) -> bytes:
    header = text.encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


FILES = {
    "none": ("nothing is wrong", _file(_tensor())),
    "empty file": ("the file has 0 bytes", b""),
    "too short": ("the file has 7 bytes, and the length of the header alone takes 8", _file(_tensor())[:7]),
    "header too long": (
        f"the header claims to have {LONGEST + 1:,} bytes, one more than allowed",
        struct.pack("<Q", LONGEST + 1) + _file(_tensor())[8:],
    ),
    "header beyond file": (
        "the header claims to end 1,000 bytes past the end of the file",
        struct.pack("<Q", len(_file(_tensor())) - 8 + 1000) + _file(_tensor())[8:],
    ),
    "not UTF-8": ("a byte of the header is 0xff", _file(_tensor()).replace(b"weight", b"wei\xffht")),
    "half a character": (r"a name has \ud800, half of a pair, which UTF-8 can't encode", _file(_tensor(r"w\ud800"))),
    "not JSON": ("the last brace of the header is missing", _with_header("{" + _tensor())),
    "not an object": ("the header is a list", _with_header(f"[{{{_tensor()}}}]")),
    "leading space": ("the header begins with a space", _with_header(f" {{{_tensor()}}}")),
    "too deep": (
        "a tensor is 2,000 nested lists",
        _file('"weight":' + "[" * 2000 + "]" * 2000),
    ),
    "duplicate key": (
        "two tensors have the same name and the same bytes, but different dtypes",
        _file(_tensor(), _tensor(dtype='"I32"')),
    ),
    "metadata of numbers": ("a value of the metadata is 3", _file('"__metadata__":{"epochs":3}', _tensor())),
    "metadata is null": ("the metadata is null, not an object", _file('"__metadata__":null', _tensor())),
    "a field missing": ("a tensor has no shape", _file('"weight":{"dtype":"F32","data_offsets":[0,8]}')),
    "a field too many": (
        "a tensor has a field that the format doesn't define",
        _file('"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"order":"F"}'),
    ),
    "unknown dtype": ("a dtype is F33", _file(_tensor(dtype='"F33"'))),
    "shape is no list": ("a shape is 2, not [2]", _file(_tensor(shape="2"))),
    "negative length": ("a shape is [-1, -2], with the right product", _file(_tensor(shape="[-1,-2]"))),
    "float in a shape": ("a shape is [2.0]", _file(_tensor(shape="[2.0]"))),
    "huge number": ("a shape has a number of 5,000 digits", _file(_tensor(shape=f"[{'9' * 5000}]"))),
    "NaN offset": ("a tensor ends at NaN, which Python's json accepts", _file(_tensor(offsets="[0,NaN]"))),
    "float offset": ("a tensor ends at 8.0", _file(_tensor(offsets="[0,8.0]"))),
    "boolean offset": ("a tensor begins at false, which Python takes for 0", _file(_tensor(offsets="[false,8]"))),
    "negative offset": ("a tensor goes from -8 to 0", _file(_tensor(offsets="[-8,0]"))),
    "one offset": ("a tensor has a begin but no end", _file(_tensor(offsets="[0]"))),
    "hole": (
        "4 bytes between two tensors belong to neither",
        _file(_tensor(), _tensor("bias", shape="[1]", offsets="[12,16]"), data=DATA + DATA),
    ),
    "hole at the start": ("the first tensor begins at 4", _file(_tensor(offsets="[4,12]"), data=DATA + DATA[:4])),
    "overlap": (
        "a tensor begins 4 bytes before the previous tensor ends",
        _file(_tensor(), _tensor("bias", offsets="[4,12]"), data=DATA + DATA[:4]),
    ),
    "end before begin": ("a tensor begins at 8 and ends at 0", _file(_tensor(), _tensor("bias", offsets="[8,0]"))),
    "overflow": (
        "a shape has 2**64 items, which 64 bits count as 0, and the tensor has 0 bytes",
        _file(_tensor(shape="[4294967296,4294967296]", offsets="[0,0]"), data=b""),
    ),
    "part of a byte": (
        "3 items of 4 bits end in the middle of a byte",
        _file(_tensor(dtype='"F4"', shape="[3]", offsets="[0,2]"), data=DATA[:2]),
    ),
    "wrong size": ("3 items of 4 bytes claim to take 8 bytes", _file(_tensor(shape="[3]"))),
    "cut short": ("the last byte of the data is missing", _file(_tensor())[:-1]),
    "trailing bytes": ("a byte follows the last tensor", _file(_tensor()) + b"\0"),
}
DAMAGES = MappingProxyType({kind: says for kind, (says, _) in FILES.items() if kind != "none"})
