"""h5py: handles of a file. HDF5 lends no memory; each reading copies."""

from pathlib import Path

from ...units import in_words
from ..whereabouts import describes


@describes("h5py.Dataset")
def dataset(x):
    if not x:
        return group(x)
    begin = x.id.get_offset()
    cache = x.id.get_access_plist().get_chunk_cache()[1]
    where = (
        f"from byte {begin:,} on, as they are: np.memmap lends them"
        if begin
        else "in a form of HDF5's own"
    )
    held = "none: it isn't in chunks"
    if x.chunks:
        where = f"in chunks of {x.chunks}, {x.compression or 'not compressed'}"
        held = f"HDF5's own, at most {in_words(cache, 'bytes')} for each open dataset"
    stored = in_words(x.id.get_storage_size(), "bytes")
    size = in_words(x.nbytes, "bytes")
    return [
        ("chunk cache", held),
        (
            "elements",
            (
                f"in the file {Path(x.file.filename).name}: {x.dtype} {x.shape}, {stored} there,"
                f" {where}"
            ),
        ),
        ("in memory", f"nothing to look at: x[...] reads {size} into an array, where(x[...])"),
    ]


@describes("h5py.Group")
def group(x):
    return [
        (
            "handle",
            (
                f"of the open file {Path(x.file.filename).name}; ask about a dataset in it"
                if x
                else "closed"
            ),
        )
    ]
