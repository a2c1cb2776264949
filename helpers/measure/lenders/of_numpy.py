"""numpy: an archive of arrays, and arrays with a mask. All other arrays have a buffer."""

from collections.abc import Iterator
from typing import Any


def archive(x: Any) -> Iterator[tuple]:
    for name in x.files:
        yield name, f"in the .npz file: x[{name!r}] reads it anew each time; where(x[{name!r}])"


def masked(x: Any) -> Iterator[tuple]:
    yield "data", x.data
    yield "mask", x.mask if x.mask.ndim else "none: nothing is masked"


LENDERS = {"NpzFile": archive, "MaskedArray": masked}
