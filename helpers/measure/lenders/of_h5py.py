"""h5py: handles of a file. HDF5 lends no memory; each reading copies."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...units import in_words


def dataset(x: Any) -> Iterator[tuple]:
    if not x:
        yield "handle", "closed"
        return
    begin = x.id.get_offset()
    where = f"from byte {begin:,} on, as they are: np.memmap lends them" if begin else "in a form of HDF5's own"
    if x.chunks:
        where = f"in chunks of {x.chunks}, {x.compression or 'not compressed'}"
        yield "chunk cache", f"HDF5's own, at most {in_words(x.id.get_access_plist().get_chunk_cache()[1], 'bytes')}"
    stored = in_words(x.id.get_storage_size(), "bytes")
    yield "elements", f"in the file {Path(x.file.filename).name}: {x.dtype} {x.shape}, {stored} there, {where}"
    yield "in memory", f"nothing to look at: x[...] reads {in_words(x.nbytes, 'bytes')} into an array, where(x[...])"


def group(x: Any) -> Iterator[tuple]:
    yield "handle", f"of the open file {Path(x.file.filename).name}; ask about a dataset in it" if x else "closed"


LENDERS = {"Dataset": dataset, "Group": group}
