"""numpy: an archive of arrays, and arrays with a mask. All other arrays have a buffer."""

from ..whereabouts import describes


@describes("numpy.NpzFile")
def npz_file(x):
    return [
        (name, f"in the .npz file: x[{name!r}] reads it anew each time; where(x[{name!r}])")
        for name in x.files
    ]


@describes("numpy.MaskedArray")
def masked_array(x):
    return [("data", x.data), ("mask", x.mask if x.mask.ndim else "none: nothing is masked")]
