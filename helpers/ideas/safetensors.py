"""Read and write safetensors files. Tensors are views of the mapped file: nothing is copied that
needn't be.

>>> save({"weight": np.eye(3, dtype="f4")}, "model.safetensors", {"made by": "hand"})
>>> with open_tensors("model.safetensors") as file:
...     weight = file["weight"]          # 9 floats in the page cache; no byte of them is read yet

The rules that make this safe are in `tensor_header.py`: read that first. No rule can guard against
this: if somebody overwrites the file, the tensors change; if somebody truncates it, a process that
reads them dies (SIGBUS). save() does neither: it writes a new file and renames it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from ..safe_files import regular_file, whole_file
from ..units import in_words
from .carts import Closing, EmptyFile, MappedFile
from .cow import Cow, read_only
from .tensor_header import (
    LONGEST,
    METADATA,
    Entry,
    Header,
    SafetensorsError,
    head_of,
    once,
    read_header,
    shown,
)
from .yoke import Yoke

# The format's dtypes, and their names in numpy or ml_dtypes. F4 and F6 have none: their elements
# share bytes.
DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "BF16": "bfloat16",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
NAMES = {numpy_name: name for name, numpy_name in DTYPES.items()}


@cache
def dtype_of(name: str) -> np.dtype | None:
    """numpy's little-endian dtype for the format's; None if neither numpy nor an installed
    ml_dtypes has it.
    """
    numpy_name = DTYPES.get(name, "")
    if hasattr(np, numpy_name):
        return np.dtype(numpy_name).newbyteorder("<")
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, numpy_name)) if hasattr(ml_dtypes, numpy_name) else None


class Tensors(Mapping[str, np.ndarray], Closing):
    """What a file of tensors and a set of such files have in common: names, and a life that ends
    with close().
    """

    path: Path
    _names: Mapping[str, Any]

    def _unknown(self, name: str) -> KeyError:
        near = (
            ", ".join(map(shown, get_close_matches(str(name), self._names)))
            or "none; list(file) lists all names"
        )
        return KeyError(f"{self.path} has no tensor {shown(name)}; names like it: {near}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    # Mapping compares values, and for arrays that's ambiguous
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class TensorFile(Tensors):
    """A mapped file. `file[name]` makes a read-only view of the tensor in the mapping.

    Opening reads the header and nothing else. OSError if the file won't open, SafetensorsError if
    it breaks a rule. A tensor whose offset in the file isn't a multiple of its item size can't be
    borrowed: the first access copies it, and the copy is kept. For a dtype that numpy lacks you get
    ml_dtypes' type. If that's missing too, you get the tensor's bytes, (n,) uint8, and
    `entries[name].dtype` says what they are.

    After close(), or the end of a `with`, the tensors you took stay valid, and the file stays
    mapped for them. Asking for another tensor raises ValueError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            yoke = Yoke.attach(MappedFile(self.path), lambda view: (view, read_header(view)))
        except EmptyFile:
            raise SafetensorsError("too short", "it has 0 bytes", path=self.path) from None
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
            dtype = np.dtype(np.uint8)
            shape = (end - begin,)
        view = np.ndarray(shape, dtype, mapped, begin)  # counted all the same: see carts.counted
        if begin % dtype.itemsize and begin < end:
            if name not in self._copies:
                # of two threads the first wins
                self._copies.setdefault(name, Cow.owned(view.copy()))
            return read_only(self._copies[name].value)
        return view

    def cow(self, name: str) -> Cow[np.ndarray]:
        """The tensor, borrowed from the mapping. If it had to be copied, it's owned: the same Cow
        on every call. There's only one copy: if you change it through to_mut(), `file[name]`
        changes too.
        """
        array = self[name]
        return self._copies[name] if name in self._copies else Cow.borrowed(array)

    def close(self) -> None:
        self._yoke = None  # was the yoke's last name, so this releases it
        self._copies.clear()

    def __repr__(self) -> str:
        size = in_words(sum(entry.end - entry.begin for entry in self.entries.values()), "bytes")
        return (
            f"TensorFile({str(self.path)!r}, {len(self)} tensors, {size}, {len(self._copies)} "
            "copied)"
        )


class ShardedFile(Tensors):
    """Several files as one. An index, model.safetensors.index.json, says which file beside it holds
    which tensor. Opens a file when you first ask for one of its tensors; `entries` opens all files.
    Raises what TensorFile raises; also SafetensorsError if the index is malformed, leads out of its
    folder, or names a tensor that its file lacks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._names = read_index(self.path)
        self._shards: dict[str, TensorFile] | None = {}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._shard(name)[name]

    def cow(self, name: str) -> Cow[np.ndarray]:
        return self._shard(name).cow(name)

    @property
    def entries(self) -> dict[str, Entry]:
        """Each tensor's place in its own file."""
        return {name: self._shard(name).entries[name] for name in self}

    def close(self) -> None:
        shards = self._shards or {}
        self._shards = None
        for shard in shards.values():
            shard.close()

    def _shard(self, name: str) -> TensorFile:
        if name not in self._names:
            raise self._unknown(name)
        shard_name = self._names[name]
        if (shards := self._shards) is None:
            raise ValueError(f"{self.path} is closed: open it again")
        if shard_name not in shards:
            # of two threads the first wins
            shards.setdefault(shard_name, TensorFile(self.path.parent / shard_name))
        shard = shards[shard_name]
        if name not in shard:
            raise SafetensorsError("missing", f"{shard_name} has no such tensor", name, self.path)
        return shard

    def __repr__(self) -> str:
        files = len(set(self._names.values()))
        opened = "closed" if self._shards is None else f"{len(self._shards)} opened"
        return f"ShardedFile({str(self.path)!r}, {len(self)} tensors in {files} files, {opened})"


def read_index(path: Path) -> dict[str, str]:
    """Each tensor's file, as a path relative to the index. SafetensorsError, OSError."""
    try:
        with regular_file(path) as file:
            if (size := os.fstat(file.fileno()).st_size) > LONGEST:
                raise ValueError(f"it has {size:,} bytes, and {LONGEST:,} is the limit")
            index = json.loads(str(file.read(), "utf-8"), object_pairs_hook=once)
        # ValueError for a lone surrogate, which no file name has
        json.dumps(index, ensure_ascii=False).encode()
    except SafetensorsError as error:
        raise error.of(path) from None
    except RecursionError:
        raise SafetensorsError("index", "it is nested too deep", path=path) from None
    except ValueError as error:
        raise SafetensorsError("index", str(error), path=path) from None
    weight_map = index.get("weight_map") if type(index) is dict else None
    if type(weight_map) is not dict:
        raise SafetensorsError("index", f"it is {shown(index)}", path=path)
    for name, shard in weight_map.items():
        # Windows' rules on every system, so that C:\\x and ..\\x are refused everywhere.
        inside = type(shard) is str and "\0" not in shard and PureWindowsPath(shard)
        if not inside or inside.anchor or ".." in inside.parts or not inside.parts:
            raise SafetensorsError("shard", f"its file is {shown(shard)}", name, path)
    return weight_map


def open_tensors(path: str | os.PathLike[str]) -> TensorFile | ShardedFile:
    """Opens a file of tensors; or several files, if the name is that of an index: *.index.json."""
    return (ShardedFile if os.fspath(path).endswith(".index.json") else TensorFile)(path)


def save(
    tensors: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes `tensors` to `path`, byte for byte as the reference writer does, with metadata in the
    order given.

    Tensors are sorted by dtype, large elements first, then by name, and spaces pad the header to a
    multiple of 8 bytes. So every tensor lies at a multiple of its item size, and a reader can
    borrow it. Arrays may have any byte order and memory layout; one that isn't C-contiguous and
    little-endian is copied, one tensor at a time.

    At any moment `path` is the old file or the complete new file. A process that mapped the old
    file keeps reading it. (Windows can't replace a mapped file: PermissionError.) TypeError for
    what the format can't hold; ValueError for a bad name; OSError.
    """
    for name, array in tensors.items():
        if not isinstance(name, str) or name == METADATA:
            raise ValueError(f"{name!r} can't name a tensor: choose a str other than {METADATA!r}")
        # would lose its mask
        plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
        if not plain or array.dtype.name not in NAMES:
            kind = f"an array of {array.dtype}" if plain else f"a {type(array).__name__}"
            raise TypeError(
                f"tensor {name!r} is {kind}; the format holds arrays of {', '.join(NAMES)}"
            )
    for pair in (metadata or {}).items():
        if not all(isinstance(text, str) for text in pair):
            raise TypeError(f"metadata maps strings to strings, not {pair[0]!r} to {pair[1]!r}")
    head, sizes = head_of(
        {name: (NAMES[array.dtype.name], array.shape) for name, array in tensors.items()}, metadata
    )
    size = len(head) + sum(sizes.values())
    read_header(head, size)  # write nothing that can't be read back
    with whole_file(path, size) as file:
        file.write(head)
        # in C order, lowest byte first; a copy only if it isn't stored that way
        for array in map(tensors.get, sizes):
            file.write(
                np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
                .reshape(-1)
                .view(np.uint8)
            )
