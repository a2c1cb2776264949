"""xarray: what its variables wrap, an array in memory or one that's read when it's needed; and dask's plans."""

from collections.abc import Iterator
from typing import Any


def dataset(x: Any) -> Iterator[tuple]:
    yield from x.variables.items()


def data_array(x: Any) -> Iterator[tuple]:
    yield "values", x.variable
    yield from ((f"coordinate {name}", variable.variable) for name, variable in x.coords.items())


def variable(x: Any) -> Iterator[tuple]:
    data, wrappers = x._data, []
    while type(data).__module__.startswith("xarray."):
        wrappers.append(type(data).__name__)
        if getattr(data, "array", None) is None:
            yield "", f"lazy, none of it is in memory: x.load() reads it ({', '.join(wrappers)})"
            return
        data = data.array
    yield "", data, f"in xarray's {', '.join(wrappers)}" if wrappers else ""


LENDERS = {
    "Dataset": dataset,
    "DataArray": data_array,
    "Variable": variable,
    "Array": lambda x: [
        ("plan", f"of {x.npartitions:,} chunks, no numbers: x.compute() makes them, where(x.compute())")
    ],
}
