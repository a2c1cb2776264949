"""What the objects of a library are made of: a module for each library, imported with the first
value that it made.

A lender is a function of an object; in these modules, it's named as the object's class. For each
part it gives a name, and the part: something with a buffer, an object that has parts itself, or a
line that says what it is instead; and a note, if there is more to say. It copies nothing, reads no
file, and computes nothing.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

Lender = Callable[[Any], Any]  # an iterable of (name, part) or (name, part, note), or a Whereabouts
LIBRARIES = {
    name: f"of_{name}"
    for name in ("numpy", "pandas", "pyarrow", "polars", "torch", "h5py", "zarr", "xarray")
}
LIBRARIES |= {"PIL": "of_pillow", "dask": "of_xarray", "scipy": "of_scipy"}
LIBRARIES |= dict.fromkeys(("_ctypes", "ctypes", "_io", "multiprocessing"), "of_python")
REGISTERED: dict[type, Lender] = {}


def register(kind: type) -> Callable[[Lender], Lender]:
    """Tells `where` what a type of your own is made of:

    @where.register(Picture)
    def parts(picture):
        yield "pixels", picture.pixels  # something with a buffer, or with parts of its own
        yield "palette", picture.palette, "shared by all pictures"  # a note, if there is more to
          say
        yield "thumbnail", "in the file; where(picture.thumbnail()) reads it"  # what it is instead
    """

    def keep(lender: Lender) -> Lender:
        REGISTERED[kind] = lender
        return lender

    return keep


def lender_of(value: Any) -> Lender | None:
    """Of its class or the nearest base that has one. No code of the class runs, and no library is
    imported.
    """
    for kind in type(value).__mro__:
        library = LIBRARIES.get(str(kind.__module__).partition(".")[0])
        named = vars(import_module(f".{library}", __name__)) if library else {}
        if lender := REGISTERED.get(kind) or named.get(kind.__name__):
            return lender
    return None
