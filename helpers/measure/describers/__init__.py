"""What the objects of a library are made of: a module for each library, which doesn't
import it.

A describer is a function of an object. For each part it gives a name, and the part: something with
a buffer, an object that has parts itself, or a line that says what it is instead; and a note, if
there is more to say. It copies nothing, reads no file, and computes nothing.
"""

from . import (
    of_h5py,
    of_numpy,
    of_pandas,
    of_pillow,
    of_polars,
    of_pyarrow,
    of_python,
    of_scipy,
    of_torch,
    of_xarray,
    of_zarr,
)
