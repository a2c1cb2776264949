"""PyTorch: the storage of a tensor, which other tensors may be views of."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...units import in_words
from ..whereabouts import Whereabouts, at, layout

ROWS, COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
LAYOUTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.jagged": ("values", "offsets"),
    **dict.fromkeys(("torch.sparse_csr", "torch.sparse_bsr"), ROWS),
    **dict.fromkeys(("torch.sparse_csc", "torch.sparse_bsc"), COLUMNS),
}


def tensor(x: Any) -> Whereabouts | Iterator[tuple]:
    if str(x.layout) != "torch.strided":
        return ((name.strip("_"), getattr(x, name)()) for name in LAYOUTS.get(str(x.layout), ()))
    if x.is_nested:
        return ((str(place), one) for place, one in enumerate(x.unbind()))
    if x.device.type != "cpu":
        return iter([("elements", f"on {x.device}, not in this process's memory; where(x.cpu()) shows a copy")])
    return dense(x)


def dense(x: Any) -> Whereabouts:
    if not x.numel():
        raise ValueError(f"an empty {type(x).__name__} has no bytes: there is nothing to look at")
    item, kind = x.element_size(), str(x.dtype).removeprefix("torch.")
    strides = [step * item for step in x.stride()]
    size = item + sum(step * (length - 1) for step, length in zip(strides, x.shape, strict=True))
    in_f_order = x.detach().permute(*reversed(range(x.ndim))).is_contiguous()
    lies = layout(kind, x.shape, strides, x.is_contiguous(), in_f_order)
    note = "pinned" if _pinned(x) else ""
    return replace(at(x.data_ptr(), size, _owners(x), writable=True), nbytes=x.numel() * item, layout=lies, note=note)


def _owners(x: Any) -> tuple[tuple[str, str], ...]:
    storage, shown = x.untyped_storage(), in_words(x.numel() * x.element_size(), "bytes")
    whose = "owns its {}" if storage.resizable() else "shows {} of somebody else's: an array's, a file's"
    own = whose.format(in_words(storage.nbytes(), "bytes"))
    return (type(x).__name__, f"a view of {shown}, from element {x.storage_offset():,}"), ("UntypedStorage", own)


def _pinned(x: Any) -> bool:
    """Only if CUDA is in use: asking would start it."""
    return sys.modules["torch"].cuda.is_initialized() and x.is_pinned()


LENDERS = {"Tensor": tensor}
