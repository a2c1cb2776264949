"""xarray: what its variables wrap, an array in memory or one that's read when it's needed; and
dask's plans.
"""

from ..whereabouts import describes


@describes("xarray.Dataset")
def dataset(x):
    return x.variables.items()


@describes("xarray.DataArray")
def data_array(x):
    return [
        ("values", x.variable),
        *((f"coordinate {name}", found.variable) for name, found in x.coords.items()),
    ]


@describes("xarray.Variable")
def variable(x):
    data = x._data
    wrappers = []
    while type(data).__module__.startswith("xarray."):
        wrappers.append(type(data).__name__)
        data = getattr(data, "array", None)
    if data is None:
        return [("", f"lazy, none of it is in memory: x.load() reads it ({', '.join(wrappers)})")]
    return [("", data, wrappers and f"in xarray's {', '.join(wrappers)}")]


@describes("dask.Array")
def array(x):
    return [
        (
            "plan",
            f"of {x.npartitions:,} chunks, no numbers: x.compute() makes them, where(x.compute())",
        )
    ]
