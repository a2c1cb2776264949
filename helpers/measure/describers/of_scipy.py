"""SciPy: the arrays of a sparse matrix, which differ from format to format."""

import numpy as np

from ..whereabouts import describes


@describes("scipy._spbase")
def spbase(x):  # sparse arrays and matrices
    for name, kept in vars(x).items():
        yield from (
            (name, part)
            for part in (kept if name == "coords" else [kept])
            if isinstance(part, np.ndarray)
        )
