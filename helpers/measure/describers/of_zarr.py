"""zarr: handles of stores. Only a MemoryStore has its chunks, encoded, in this process's memory."""

from ...units import in_words
from ..whereabouts import describes


@describes("zarr.Array")
def array(x):
    store = x.store
    codecs = ", ".join(type(codec).__name__ for codec in x.compressors) or "not compressed"
    stored = getattr(store, "_store_dict", {})
    inside = f"{x.path}/".lstrip("/")
    size = in_words(x.nbytes, "bytes")
    return [
        ("elements", f"in chunks of {x.chunks}, {codecs}, in {store}: {x.dtype} {x.shape}"),
        ("in memory", f"nothing to look at: x[...] decodes {size} into an array, where(x[...])"),
        (
            "cache",
            f"at most {store.max_size:,} bytes of it"
            if getattr(store, "max_size", None)
            else "none",
        ),
        *(
            (f"stored {key}", stored[key]._data, "encoded")
            for key in sorted(stored)
            if key.startswith(inside)
        ),
    ]


@describes("zarr.Group")
def group(x):
    return [("handle", f"of {x.store}; ask about an array in it")]
