"""Files of tensors in the safetensors format: one file, or a model in shards with its index.

The format: 8 bytes with the length of the header (unsigned, little-endian), the header (JSON in
UTF-8), the data. Tensors are in the reference writer's order (largest items first, then by name),
and spaces pad the header to a multiple of 8 (https://github.com/safetensors/safetensors). Values
depend on the seed, the tensor's name and the position, so a model has the same values in one file
and in shards. They're written as they're made.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import isqrt, prod
from pathlib import Path

import numpy as np

from .. import units
from ..folders import generated
from ..ideas.tensor_header import head_of
from .pieces import Made, checked_seed, make, place, random_bytes

Tensors = Mapping[str, tuple[str, tuple[int, ...]]]  # name -> (dtype, shape)

CHUNK = units.MiB
LARGEST = 0.05  # the largest float value
FLOATS = {"F32": "<f4", "F16": "<f2"}
DTYPES = (*FLOATS, "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8")
INDEX = "model.safetensors.index.json"


def tensor_file(
    path: str | os.PathLike,
    tensors: Tensors | None = None,
    size: int | str = "16 MiB",
    layers: int = 8,
    seed: int = 0,
    misaligned: bool = False,
) -> Path:
    """A safetensors file at `path`; floats are spread evenly between -0.05 and 0.05. Otherwise as
    `random_file`. `tensors`: name -> (dtype, shape), with the dtype as the format names it ("F16");
    without it, a model of `layers` layers of at most `size` bytes: "layers.{i}.weight" [n, n] and
    "layers.{i}.bias" [n], F32. If `misaligned`, the data begins at an odd byte, which is legal, so
    no item of more than one byte is aligned.
    """
    path = place(path)
    seed = checked_seed(seed)
    if tensors is None:
        tensors = _model(units.size(size), layers, range(layers))
    make(_file(path, tensors, seed, misaligned), by=f"tensor_file(seed={seed})")
    return path


def sharded_model(
    folder: str | os.PathLike,
    size: int | str = "256 MiB",
    shards: int = 4,
    layers: int = 32,
    seed: int = 0,
) -> Path:
    """The model of `tensor_file(size=size, layers=layers)` as `shards` files in `folder`,
    model-00001-of-00004.safetensors and so on, each with its share of the layers; returns the path
    of the index, which is written last: model.safetensors.index.json. Existing files: as in
    `random_file`; in `folders.generated()`, shards of another count are deleted.
    """
    folder = place(folder)
    seed = checked_seed(seed)
    if not 1 <= shards <= layers:
        raise ValueError(f"{layers} layers make 1 to {layers} shards, not {shards}")
    parts = [
        _model(units.size(size), layers, part) for part in np.array_split(range(layers), shards)
    ]
    names = [f"model-{i:05}-of-{shards:05}.safetensors" for i in range(1, shards + 1)]
    index = {
        "metadata": {
            "total_size": sum(4 * prod(shape) for part in parts for _, shape in part.values())
        },
        "weight_map": {
            tensor: name for name, part in zip(names, parts, strict=True) for tensor in sorted(part)
        },
    }
    folder.mkdir(exist_ok=True)
    for name, part in zip(names, parts, strict=True):
        make(_file(folder / name, part, seed), by=f"sharded_model(seed={seed})")
    text = (json.dumps(index, indent=2) + "\n").encode()
    make(Made(folder / INDEX, len(text), lambda: [lambda: text]), by=f"sharded_model(seed={seed})")
    if folder.resolve().is_relative_to(generated()):
        for left in set(folder.glob("model-*-of-*.safetensors")) - {
            folder / name for name in names
        }:
            left.unlink()
    return folder / INDEX


def _model(size: int, layers: int, part: Iterable[int]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The layers of `part`, of `layers` in all; n is the largest for which layers * (n * n + n) * 4
    <= size.
    """
    n = (isqrt(size // layers + 1) - 1) // 2 if layers > 0 else 0
    if n < 1:
        raise ValueError(f"{size} bytes are too few for {layers} layers of at least 8 bytes each")
    shapes = {"weight": (n, n), "bias": (n,)}
    return {f"layers.{i}.{name}": ("F32", shape) for i in part for name, shape in shapes.items()}


def _file(path: Path, tensors: Tensors, seed: int, misaligned: bool = False) -> Made:
    for dtype, _ in tensors.values():
        if dtype not in DTYPES:
            raise ValueError(
                f"{dtype!r} isn't a dtype of these files; there are: {', '.join(DTYPES)}"
            )
    head, sizes = head_of(tensors, odd=int(misaligned))

    def pieces() -> Iterator[Callable[[], bytes | np.ndarray]]:
        yield lambda: head
        for name, size in sizes.items():
            for i, begin in enumerate(range(0, size, CHUNK)):
                yield partial(_values, tensors[name][0], min(CHUNK, size - begin), seed, name, i)

    return Made(path, len(head) + sum(sizes.values()), pieces)


def _values(dtype: str, size: int, *key: int | str) -> np.ndarray:
    """Random bytes as values of `dtype`: small floats, none of them NaN; any integers."""
    random = random_bytes(size, *key)
    if dtype not in FLOATS:
        return random
    signed = random.view(FLOATS[dtype].replace("f", "i"))
    floats = signed.astype("<f4")
    floats *= LARGEST / 2.0 ** (8 * signed.itemsize - 1)
    return floats.astype(FLOATS[dtype], copy=False).view(np.uint8)
