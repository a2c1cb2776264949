"""numpy: an archive of arrays, and arrays with a mask. All other arrays have a buffer."""


def NpzFile(x) -> list[tuple]:
    return [
        (name, f"in the .npz file: x[{name!r}] reads it anew each time; where(x[{name!r}])")
        for name in x.files
    ]


def MaskedArray(x) -> list[tuple]:
    return [("data", x.data), ("mask", x.mask if x.mask.ndim else "none: nothing is masked")]
