"""A reader and a writer of safetensors files: tensors as views of the file, mapped; nothing is copied that need not be.

>>> save({"weight": np.eye(3, dtype="f4")}, "model.safetensors", {"made by": "hand"})
>>> with open_tensors("model.safetensors") as file:
...     weight = file["weight"]          # 9 floats of the page cache; no byte of them is read yet

The rules that make it safe to look are in `tensor_header.py`: read that first. What no rule can see: somebody who
overwrites the file changes the tensors, and who shortens it ends the process that reads them (SIGBUS); save() does
neither, because it writes another file and renames it.
"""

import json
import os
from collections.abc import Iterator, KeysView, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path, PureWindowsPath
from typing import Any, Self

import numpy as np

from ..units import in_words
from ..whole import regular_file, whole_file
from .carts import EmptyFile, MappedFile
from .cow import Cow, read_only
from .tensor_header import LONGEST, METADATA, RULES, Entry, Header, SafetensorsError, head_of, once, read_header, shown
from .yoke import Yoke

__all__ = ["RULES", "Entry", "Header", "SafetensorsError", "ShardedFile", "TensorFile", "open_tensors", "read_header",
           "save"]  # fmt: skip

# The format's dtypes and numpy's, or those of ml_dtypes. F4 and F6 have none: there several elements share a byte.
DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32", "F64": "float64", "C64": "complex64",
    "BF16": "bfloat16", "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
NAMES = {numpy_name: name for name, numpy_name in DTYPES.items()}


@cache
def dtype_of(name: str) -> np.dtype | None:
    """numpy's dtype for one of the format's, little-endian; None if neither numpy nor an installed ml_dtypes has it."""
    numpy_name = DTYPES.get(name, "")
    if hasattr(np, numpy_name):
        return np.dtype(numpy_name).newbyteorder("<")
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, numpy_name)) if hasattr(ml_dtypes, numpy_name) else None


class Tensors(Mapping[str, np.ndarray]):
    """What a file of tensors and a set of such files share: names, and a life that ends with close()."""

    path: Path
    _names: Mapping[str, Any]

    def _unknown(self, name: str) -> KeyError:
        near = ", ".join(map(shown, get_close_matches(str(name), self._names))) or "none; list(file) gives all names"
        return KeyError(f"{self.path} has no tensor {shown(name)}; names like it: {near}")

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:  # Mapping would call __getitem__, which looks for names like it
            return default
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def keys(self) -> KeysView[str]:
        return self._names.keys()

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    __eq__, __hash__ = object.__eq__, object.__hash__  # Mapping would compare the values, and arrays have no one answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class TensorFile(Tensors):
    """A file, mapped: `file[name]` is a read-only view of the tensor in the mapping, made when it is asked for.

    Opening reads the header and nothing else. OSError if the file cannot be opened, SafetensorsError if it is not well
    formed. A tensor whose place in the file is no multiple of its item size cannot be borrowed: it is copied when it is
    first asked for, and kept. A dtype that numpy lacks comes through ml_dtypes, or where that lacks it or is not
    installed, as the tensor's bytes, (n,) uint8; `entries[name].dtype` says what they are.

    After close(), or at the end of a `with`, tensors that were taken stay valid, and the file stays mapped for them;
    to ask for another is a ValueError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            yoke = Yoke.attach(MappedFile(self.path), checked)
        except EmptyFile:
            raise SafetensorsError("too short", "there are 0 bytes", path=self.path) from None
        except SafetensorsError as error:
            error.of(self.path)
            raise
        self._yoke: Yoke[tuple[memoryview, Header], MappedFile] | None = yoke
        _, header = yoke.get()
        self._names = self.entries = header.entries
        self.metadata = header.metadata
        self._copies: dict[str, Cow[np.ndarray]] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if (entry := self.entries.get(name)) is None:
            raise self._unknown(name)
        if (yoke := self._yoke) is None:
            raise ValueError(f"{self.path} is closed: open it again")
        mapped, _ = yoke.get()
        _, dtype_name, shape, begin, end = entry
        if (dtype := dtype_of(dtype_name)) is None:
            dtype, shape = np.dtype(np.uint8), (end - begin,)
        view = np.ndarray(shape, dtype, mapped, begin)
        if begin % dtype.itemsize and begin < end:
            if name not in self._copies:
                self._copies.setdefault(name, Cow.owned(view.copy()))  # of two threads, the first
            return read_only(self._copies[name].value)
        return view

    def cow(self, name: str) -> Cow[np.ndarray]:
        """The tensor, borrowed from the mapping; or owned, where it had to be copied, and then the same Cow each time.

        There is one copy: what is written into it by to_mut() shows in `file[name]` too.
        """
        array = self[name]
        return self._copies[name] if name in self._copies else Cow.borrowed(array)

    @property
    def copied(self) -> tuple[str, ...]:
        """The tensors that were copied so far."""
        return tuple(self._copies)

    def close(self) -> None:
        self._yoke = None  # its last name, which releases it
        self._copies.clear()

    def __repr__(self) -> str:
        size = in_words(sum(entry.end - entry.begin for entry in self.entries.values()), "bytes")
        return f"TensorFile({str(self.path)!r}, {len(self)} tensors, {size}, {len(self._copies)} copied)"


def checked(view: memoryview) -> tuple[memoryview, Header]:
    """What a TensorFile's yoke holds: the bytes of the file, and the header that describes them."""
    return view, read_header(view)


class ShardedFile(Tensors):
    """Several files as one: an index, model.safetensors.index.json, says which tensor is in which file beside it.

    A file is opened when a tensor in it is first asked for; `entries` opens all of them. Errors as a TensorFile's, and
    SafetensorsError for an index that is none, leads out of its folder, or names a tensor that its file has not.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._names, self.metadata = read_index(self.path)
        self._shards: dict[str, TensorFile] | None = {}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._shard(name)[name]

    def cow(self, name: str) -> Cow[np.ndarray]:
        """As TensorFile.cow."""
        return self._shard(name).cow(name)

    @property
    def entries(self) -> dict[str, Entry]:
        """Where each tensor lies in its own file."""
        return {name: self._shard(name).entries[name] for name in self}

    @property
    def copied(self) -> tuple[str, ...]:
        return tuple(name for shard in (self._shards or {}).values() for name in shard.copied)

    def close(self) -> None:
        shards, self._shards = self._shards or {}, None
        for shard in shards.values():
            shard.close()

    def _shard(self, name: str) -> TensorFile:
        if name not in self._names:
            raise self._unknown(name)
        beside = self._names[name]
        if (shards := self._shards) is None:
            raise ValueError(f"{self.path} is closed: open it again")
        if beside not in shards:
            shards.setdefault(beside, TensorFile(self.path.parent / beside))  # of two threads, the first
        shard = shards[beside]
        if name not in shard:
            raise SafetensorsError("missing", f"{beside} has no such tensor", name, self.path)
        return shard

    def __repr__(self) -> str:
        there, opened = (
            len(set(self._names.values())),
            "closed" if self._shards is None else f"{len(self._shards)} opened",
        )
        return f"ShardedFile({str(self.path)!r}, {len(self)} tensors in {there} files, {opened})"


def read_index(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The file of each tensor, as a path relative to the index, and the metadata. SafetensorsError, OSError."""
    try:
        with regular_file(path) as file:
            if (size := os.fstat(file.fileno()).st_size) > LONGEST:
                raise ValueError(f"it has {size:,} bytes, and may have {LONGEST:,}")
            index = json.loads(str(file.read(), "utf-8"), object_pairs_hook=once)
        json.dumps(index, ensure_ascii=False).encode()  # ValueError for half a character, which no file name has
    except SafetensorsError as error:
        raise error.of(path) from None
    except RecursionError:
        raise SafetensorsError("index", "it is nested too deep", path=path) from None
    except ValueError as error:
        raise SafetensorsError("index", str(error), path=path) from None
    weight_map = index.get("weight_map") if type(index) is dict else None
    if type(weight_map) is not dict:
        raise SafetensorsError("index", f"there is {shown(index)}", path=path)
    metadata = index.get("metadata", {})
    if type(metadata) is not dict:
        raise SafetensorsError("index", f"its metadata is {shown(metadata)}", path=path)
    for name, shard in weight_map.items():
        # As Windows reads a path, so that C:\\x and ..\\x are seen for what they are there, wherever this runs.
        inside = type(shard) is str and "\0" not in shard and PureWindowsPath(shard)
        if not inside or inside.anchor or ".." in inside.parts or not inside.parts:
            raise SafetensorsError("shard", f"its file is {shown(shard)}", name, path)
    return weight_map, metadata


def open_tensors(path: str | os.PathLike[str]) -> TensorFile | ShardedFile:
    """A file of tensors, or the index of several, which is told by its name: *.index.json."""
    return (ShardedFile if os.fspath(path).endswith(".index.json") else TensorFile)(path)


def save(
    tensors: Mapping[str, np.ndarray], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes `tensors` to `path`, byte for byte as the reference writer does, metadata in the order given.

    Large elements first, then by name, the header padded with spaces to a multiple of 8 bytes: so every tensor lies at
    a multiple of its item size, and can be borrowed. Arrays in any byte order and memory layout are right (what is not
    C-contiguous and little-endian is copied, one tensor at a time).

    `path` is the old file or all of the new one at any moment (`helpers.whole`), and whoever has mapped the old one
    goes on reading that. On Windows a mapped file cannot be replaced: PermissionError, and nothing is lost. TypeError
    for what is no array, or of a dtype that the format has not; ValueError for a bad name; OSError as `whole_file`.
    """
    for name, array in tensors.items():
        if not isinstance(name, str) or name == METADATA:
            raise ValueError(f"{name!r} cannot name a tensor: choose a str other than {METADATA!r}")
        plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)  # whose mask would be lost
        if not plain or array.dtype.name not in NAMES:
            kind = f"an array of {array.dtype}" if plain else f"a {type(array).__name__}"
            raise TypeError(f"tensor {name!r} is {kind}; the format holds arrays of {', '.join(NAMES)}")
    for pair in (metadata or {}).items():
        if not all(isinstance(text, str) for text in pair):
            raise TypeError(f"metadata maps strings to strings, not {pair[0]!r} to {pair[1]!r}")
    head, sizes = head_of({name: (NAMES[array.dtype.name], array.shape) for name, array in tensors.items()}, metadata)
    size = len(head) + sum(sizes.values())
    read_header(head, size)  # what is written can be read
    with whole_file(path, size) as file:
        file.write(head)
        for name in sizes:
            file.write(little_endian(tensors[name]))


def little_endian(array: np.ndarray) -> np.ndarray:
    """(nbytes,) uint8: its elements in C order, lowest byte first; not copied if that is how they lie."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
