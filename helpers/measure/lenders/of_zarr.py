"""zarr: handles of stores. Only a MemoryStore has its chunks, encoded, in this process's memory."""

from collections.abc import Iterator
from typing import Any

from ...units import in_words


def array(x: Any) -> Iterator[tuple]:
    store, codecs = x.store, ", ".join(type(codec).__name__ for codec in x.compressors) or "not compressed"
    yield "elements", f"in chunks of {x.chunks}, {codecs}, in {store}: {x.dtype} {x.shape}"
    yield "in memory", f"nothing to look at: x[...] decodes {in_words(x.nbytes, 'bytes')} into an array, where(x[...])"
    yield "cache", f"at most {store.max_size:,} bytes of it" if getattr(store, "max_size", None) else "none"
    stored, inside = getattr(store, "_store_dict", {}), f"{x.path}/".lstrip("/")
    for key in sorted(key for key in stored if key.startswith(inside)):
        yield f"stored {key}", stored[key]._data, "encoded"


def group(x: Any) -> Iterator[tuple]:
    yield "handle", f"of {x.store}; ask about an array in it"


LENDERS = {"Array": array, "Group": group}
