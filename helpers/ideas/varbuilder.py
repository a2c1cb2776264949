"""VarBuilder: a model asks for its weights by name and shape, and learns which of them had to be
copied.

>>> with VarBuilder.from_mapped("model.safetensors", "f4") as weights:
...     layer = weights.prefix("layers.0")
...     weight, bias = layer.get((64, 64), "weight"), layer.get((64,), "bias")
...     weights
VarBuilder(all, 16 tensors, 2 taken)
  layers.0.weight  F16  (64, 64)  copied: float16 to float32
  layers.0.bias    F32  (64,)     borrowed

After candle's VarBuilder (https://docs.rs/candle-nn): from_mapped is its from_mmaped_safetensors,
prefix its pp.
"""

import os
from contextlib import ExitStack, suppress
from difflib import get_close_matches
from typing import Any

import numpy as np

from .carts import Closing
from .cow import read_only
from .safetensors import NAMES, ShardedFile, TensorFile, dtype_of, open_tensors
from .tensor_header import Entry

ROWS = 12


class LoadError(ValueError):
    """A tensor is missing, or not what the model needs."""


class VarBuilder(Closing):
    """The weights of a model, or of the part under a prefix. Start with `VarBuilder.from_mapped`.
    `taken` covers the whole model: full name -> "borrowed", "copied: misaligned" or "copied:
    float16 to float32".
    """

    def __init__(
        self,
        file: TensorFile | ShardedFile,
        entries: dict[str, Entry],
        dtype: np.dtype | None,
        taken: dict[str, str],
        path: str = "",
    ) -> None:
        self._file = file
        self._entries = entries
        self._dtype = dtype
        self.taken = taken
        self._path = path
        self._below = f"{path}." if path else ""

    @classmethod
    def from_mapped(cls, path: str | os.PathLike[str], dtype: Any = None) -> "VarBuilder":
        """Maps a safetensors file, or the files of an index, and reads their headers. get() returns
        weights as `dtype`, a numpy type or its name; with None, each keeps its stored dtype.
        SafetensorsError, OSError; LoadError for a dtype that no tensor can have, or that only
        ml_dtypes has.
        """
        wanted = None if dtype is None else _wanted(dtype)
        with ExitStack() as undo:
            file = undo.enter_context(open_tensors(path))
            weights = cls(file, file.entries, wanted, {})  # of an index, this opens all files
            undo.pop_all()
        return weights

    def prefix(self, name: str) -> "VarBuilder":
        """The part whose names begin with `name` and a dot. Shares the same file."""
        return VarBuilder(self._file, self._entries, self._dtype, self.taken, self._below + name)

    def get(self, shape: tuple[int, ...], name: str) -> np.ndarray:
        """The tensor, read-only: a view of the mapping, or a copy. For a copy, `taken` says why.

        Another dtype means a new copy on each call, the caller's alone. The conversion may round,
        and turns numbers too large for a float into infinity. LoadError if it would lose more
        (floats to integers, integers to narrower integers, complex to real), if the tensor is
        missing, or if its shape isn't `shape`. ValueError after close().
        """
        full = self._below + name
        wanted = self._dtype
        if (entry := self._entries.get(full)) is None:
            near = ", ".join(get_close_matches(full, self._entries)) or "none"
            raise LoadError(
                f"{full}: expected {_spec(wanted, shape)}, found no such tensor; names like it: "
                f"{near}"
            )
        stored = dtype_of(entry.dtype)
        reason = ""
        if stored is None:
            reason = f"; numpy has no {entry.dtype}; to get most such types, install ml_dtypes"
        elif wanted is not None and _loses(stored, wanted):
            reason = f"; {stored} to {wanted} would lose more than digits"
        if reason or entry.shape != tuple(shape):
            raise LoadError(
                f"{full}: expected {_spec(wanted, shape)}, found "
                f"{_spec(entry.dtype, entry.shape)}{reason}"
            )
        tensor = self._file.cow(full)
        if wanted is None or wanted == stored:
            self.taken[full] = "borrowed" if tensor.is_borrowed else "copied: misaligned"
            return read_only(tensor.value)
        self.taken[full] = f"copied: {stored} to {wanted}"
        return read_only(tensor.value.astype(wanted))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tensors in this part, without the prefix."""
        return tuple(
            name.removeprefix(self._below) for name in self._entries if name.startswith(self._below)
        )

    def close(self) -> None:
        """Closes the file for all prefixes. Tensors you took stay valid."""
        self._file.close()

    def __repr__(self) -> str:
        taken = [name for name in self.taken if name.startswith(self._below)]
        lines = [
            f"VarBuilder({self._path or 'all'}, {len(self.names)} tensors, {len(taken)} taken)"
        ]
        rows = [
            (name, self._entries[name].dtype, str(self._entries[name].shape))
            for name in taken[:ROWS]
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"  {'  '.join(cells)}  {self.taken[row[0]]}")
        return "\n".join(lines + [f"  … and {len(taken) - ROWS} more"] * (len(taken) > ROWS))


def _wanted(dtype: Any) -> np.dtype:
    if isinstance(dtype, str) and dtype in NAMES:
        if (converted := dtype_of(NAMES[dtype])) is None:
            raise LoadError(f"numpy has no {dtype}; to get most such types, install ml_dtypes")
        return converted
    with suppress(TypeError):  # numpy doesn't know it either
        if (numpy_dtype := np.dtype(dtype)).name in NAMES:
            return numpy_dtype
    raise LoadError(f"weights can't be {dtype}; choose one of {', '.join(NAMES)}")


def _loses(stored: np.dtype, wanted: np.dtype) -> bool:
    if wanted.kind in "iu":
        return not np.can_cast(stored, wanted)  # otherwise numbers would wrap around
    # with ml_dtypes, numpy would cast complex64 to bfloat16
    imaginary = stored.kind == "c" != wanted.kind
    return imaginary or not np.can_cast(stored, wanted, "same_kind")


def _spec(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{'any dtype' if dtype is None else dtype} of shape {tuple(shape)}"
