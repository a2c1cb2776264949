"""PyTorch: the storage of a tensor, which other tensors may be views of."""

import sys

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...units import in_words
from ..whereabouts import at, describes, layout

LAYOUTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.jagged": ("values", "offsets"),
    **dict.fromkeys(
        ("torch.sparse_csr", "torch.sparse_bsr"), ("crow_indices", "col_indices", "values")
    ),
    **dict.fromkeys(
        ("torch.sparse_csc", "torch.sparse_bsc"), ("ccol_indices", "row_indices", "values")
    ),
}


@describes("torch.Tensor")
def tensor(x):
    if str(x.layout) != "torch.strided":
        return [(name.strip("_"), getattr(x, name)()) for name in LAYOUTS.get(str(x.layout), ())]
    if x.is_nested:
        return [(str(place), one) for place, one in enumerate(x.unbind())]
    if x.device.type != "cpu":
        return [
            (
                "elements",
                f"on {x.device}, not in this process's memory; where(x.cpu()) shows a copy",
            )
        ]
    if not x.numel():
        raise ValueError(f"an empty {type(x).__name__} has no bytes: there is nothing to look at")
    item = x.element_size()
    storage = x.untyped_storage()
    # of other bytes
    form = as_strided(np.empty(1, f"V{item}"), x.shape, [item * step for step in x.stride()])
    low, high = np.lib.array_utils.byte_bounds(form)
    whose = (
        "owns its {}"
        if storage.resizable()
        else "shows {} of somebody else's: an array's, a file's"
    )
    view = f"a view of {in_words(form.nbytes, 'bytes')}, from element {x.storage_offset():,}"
    owners = (
        (type(x).__name__, view),
        ("UntypedStorage", whose.format(in_words(storage.nbytes(), "bytes"))),
    )
    # asking alone would start CUDA
    pinned = sys.modules["torch"].cuda.is_initialized() and x.is_pinned()
    told = {"layout": layout(form, str(x.dtype).removeprefix("torch.")), "note": "pinned" * pinned}
    return at(x.data_ptr(), high - low, owners, True, nbytes=form.nbytes, **told)
