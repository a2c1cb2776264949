"""`Pickler`: a pickle in which memory that several names show is sent once, and a view arrives as
the view it was.

Pickle alone sends the elements of each array: a view would arrive as an array of its own. Here an
array that doesn't own its bytes is sent as what it is: its owner's bytes, once, and the place in
them. The libraries that it comes from rebuild it, so nothing of ours is imported there. What would
arrive as something else is refused.
"""

import array
import functools
import io
import marshal
import mmap
import operator
import sys
from functools import cached_property, partial
from types import CodeType, FunctionType
from typing import Any

import cloudpickle
import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..owners import is_a, own_dict, way_to_owner
from . import maps

MAPPED = (
    "it shows a mapped file or shared memory, and what arrived there would be a copy in memory of "
    "its own"
)
OPEN = "it is an open file, and what arrived there would be a copy of its text"
OUTSIDE = "it is a view of more memory than its owner has"
READ_ONLY = "it can be written, but what it is a view of has become read-only"
OVERLAP = (
    "another name shows a part of its memory, and neither shows all of it; pass what both are "
    "views of"
)
FORMAT = "it is a memoryview whose format numpy doesn't keep; pass what it is a view of"
ATTRIBUTES = (
    "numpy's pickle leaves out the attributes of its class; a __reduce__ there would carry them"
)
# the end of a reduce value: setflags(made, False)
READ_ONLY_FROM_NOW = (False, None, None, np.ndarray.setflags)
LENDERS = (bytes, bytearray, array.array)


class CannotTravel(TypeError):
    """Why a value would not arrive as it is."""


class Pickler(cloudpickle.Pickler):
    """CannotTravel if something would arrive as something else; and what pickle raises. Code keeps
    its file's name, for tracebacks: cloudpickle 3.1.3 takes it away. marshal keeps it; it needs the
    same Python at both ends, and both are sys.executable.
    """

    def __init__(self, file: Any, **options: Any):
        super().__init__(file, protocol=5, **options)
        # by the owner's id: the owner, and what is sent of it
        self.blocks: dict[int, tuple[Any, Any]] = {}
        self.sent: set[int] = set()  # the ids of what is sent
        self.lent: list[np.ndarray] = []  # what is sent of owners that lend it in more than one way

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if is_a(value, np.ndarray):
            return self.array(value) or NotImplemented
        if kind is CodeType:
            return marshal.loads, (marshal.dumps(value),)
        if kind is memoryview:
            reduced = self.stretch(value)
        elif kind is io.TextIOWrapper:
            raise CannotTravel(OPEN)
        elif kind is FunctionType and "registry" in value.__dict__ and not found_by_name(value):
            reduced = of_dispatch(value)
        else:
            rule = RULES.get(kind.__module__.partition(".")[0])
            reduced = rule and rule(value)
        return reduced or super().reducer_override(value)

    def array(self, view: np.ndarray) -> tuple | None:
        """None if numpy's own way loses nothing, or isn't ours to replace."""
        kind = type(view)
        if kind is not np.ndarray:
            own_way = (
                kind.__reduce__ is not np.ndarray.__reduce__
                or kind.__reduce_ex__ is not np.ndarray.__reduce_ex__
            )
            if own_dict(view) and not (own_way or is_a(view, np.memmap)):
                raise CannotTravel(ATTRIBUTES)
            return None if own_way else (np.ndarray.view, (view.view(np.ndarray), kind))
        # strings of any length lie elsewhere
        if not view.nbytes or view.dtype.kind == "T" or id(view) in self.sent:
            return None
        if view.base is None and view.flags.c_contiguous and 1 not in view.shape and not self.lent:
            self.blocks[id(view)] = view, view
            return None
        block = self.block(view)
        if block is view:
            return None
        whole = block if is_a(block, np.ndarray) else np.frombuffer(block, np.uint8)
        (begin, end), (low, high) = byte_bounds(whole), byte_bounds(view)
        if low < begin or high > end:
            raise CannotTravel(OUTSIDE)
        made = np.ndarray, (view.shape, view.dtype, block, view.ctypes.data - begin, view.strides)
        if view.flags.writeable and not whole.flags.writeable:
            raise CannotTravel(READ_ONLY)
        return (
            made if view.flags.writeable == whole.flags.writeable else (*made, *READ_ONLY_FROM_NOW)
        )

    def block(self, view: np.ndarray) -> Any:
        """What is sent of what has the bytes: bytes as they are, an array with the axes in the
        order of its memory.

        If the owner may lend its bytes to others as well, that is the last array on the way to it.
        """
        way = way_to_owner(view)
        if any(is_a(step, mmap.mmap) for step in way):
            raise CannotTravel(MAPPED)
        owner = (
            way[-1]
            if type(way[-1]) in LENDERS
            else next(step for step in way[::-1] if is_a(step, np.ndarray))
        )
        if id(owner) not in self.blocks:
            block = owner
            if is_a(owner, np.ndarray):
                block = owner if type(owner) is np.ndarray else owner.view(np.ndarray)
                if not block.flags.c_contiguous:
                    block = block.transpose(
                        sorted(range(block.ndim), key=lambda axis: -block.strides[axis])
                    )
                if not block.flags.c_contiguous:
                    raise CannotTravel(OUTSIDE)
                if 1 in block.shape:  # numpy's own way would forget the strides there
                    block = block.reshape(-1)
                block = self.first(block, not owner.flags.owndata)
            self.blocks[id(owner)] = owner, block
            self.sent.add(id(block))
        return self.blocks[id(owner)][1]

    def first(self, block: np.ndarray, lent: bool) -> np.ndarray:
        """The block that is sent with this one's bytes in it."""
        others = (
            [known for _, known in self.blocks.values() if is_a(known, np.ndarray)]
            if lent
            else self.lent
        )
        low, high = byte_bounds(block)
        for other in others:
            begin, end = byte_bounds(other)
            if begin <= low and high <= end:
                return other
            if begin < high and low < end:
                raise CannotTravel(OVERLAP)
        if lent:
            if any(
                at.start <= low < at.end and at.kind in ("file", "shared memory")
                for at in self.regions
            ):
                raise CannotTravel(MAPPED)
            self.lent.append(block)
        return block

    @cached_property
    def regions(self) -> tuple[maps.Region, ...]:
        return maps.regions() if sys.platform == "linux" else ()

    def stretch(self, view: memoryview) -> tuple:
        """As bytes in a row of its owner's, or as numpy shows it."""
        shown = np.asarray(view)
        if type(view.obj) in LENDERS and view.c_contiguous and view.nbytes:
            start = shown.ctypes.data - np.frombuffer(view.obj, np.uint8).ctypes.data
            whole = Made(memoryview.cast, Made(memoryview, view.obj), "B")
            part = Made(operator.getitem, whole, slice(start, start + view.nbytes))
            made = Made(memoryview.cast, part, view.format, list(view.shape))
            return (Made(memoryview.toreadonly, made) if view.readonly else made).reduced
        if is_a(view.obj, np.ndarray) and view.obj.__array_interface__ == shown.__array_interface__:
            shown = view.obj
        if not view.format.endswith(memoryview(shown).format):
            raise CannotTravel(FORMAT)
        return memoryview, (shown,)


class Made:
    """A call that makes a part of what is sent: it is pickled as that call."""

    def __init__(self, call: Any, *args: Any):
        self.reduced = call, args

    def __reduce__(self) -> tuple:
        return self.reduced


# --- what libraries hold --------------------------------------------------------------------------
def of_arrow(value: Any) -> tuple | None:
    """A buffer, which arrays and tables are made of."""
    pa = sys.modules["pyarrow"]
    if not is_a(value, pa.Buffer) or not value.size or not value.is_cpu:
        return None
    shown = np.frombuffer(value, np.uint8)
    shown.flags.writeable = False  # as Arrow uses it, whatever else its memory is
    return pa.py_buffer, (shown,)


def of_pandas(value: Any) -> tuple | None:
    """Blocks with who else refers to their values: without that, writing to one frame would change
    the others.
    """
    internals = sys.modules["pandas"].core.internals
    if is_a(value, internals.blocks.Block):
        places = Made(type(value.mgr_locs), value.mgr_locs.indexer)
        return type(value), (value.values, places, value.ndim, value.refs)
    if is_a(value, internals.managers.SingleBlockManager):
        return type(value), (value.blocks[0], value.axes[0])
    if type(value).__name__ == "BlockValuesRefs":
        return type(value), ()
    if is_a(value, sys.modules["pandas"].Index) and (refs := own_dict(value).get("_references")):
        return type(value)._simple_new, (value._values, value.name, refs)
    return None


def of_polars(value: Any) -> tuple | None:
    """By way of Arrow, if that keeps the types: polars' own pickle copies."""
    pl = sys.modules["polars"]
    if is_a(value, pl.Series):
        frame = of_polars(value.to_frame())
        return frame and (pl.DataFrame.to_series, (Made(*frame),))
    if not is_a(value, pl.DataFrame) or "pyarrow" not in sys.modules:
        return None
    table = value.to_arrow(compat_level=pl.CompatLevel.newest())
    return (pl.from_arrow, (table,)) if pl.from_arrow(table).schema == value.schema else None


def of_torch(value: Any) -> tuple | None:
    """A storage, which tensors are views of."""
    torch = sys.modules["torch"]
    if is_a(value, torch.storage.TypedStorage):
        untyped = value._untyped_storage
        return (
            partial(
                torch.storage.TypedStorage, wrap_storage=untyped, dtype=value.dtype, _internal=True
            ),
            (),
        )
    if is_a(value, torch.storage.UntypedStorage) and value.device.type == "cpu" and value.nbytes():
        shown = torch.empty(0, dtype=torch.uint8).set_(value).numpy()
        return torch.Tensor.untyped_storage, (Made(torch.from_numpy, shown),)
    return None


# --- what functools wraps -------------------------------------------------------------------------
def of_functools(value: Any) -> tuple | None:
    """Functions with a cache, which arrives empty; cached_property has a lock, up to Python
    3.11.
    """
    if is_a(value, functools.cached_property):
        return functools.cached_property, (value.func,), {"attrname": value.attrname}
    if is_a(value, functools._lru_cache_wrapper) and not found_by_name(value):
        return operator.call, (
            Made(functools.lru_cache, *value.cache_parameters().values()),
            value.__wrapped__,
        )
    return None


def of_dispatch(value: Any) -> tuple:
    """A function of functools.singledispatch: made anew, then its methods are registered."""
    made = Made(functools.singledispatch, value.registry[object])
    methods = [(kind, method) for kind, method in value.registry.items() if kind is not object]
    return operator.getitem, (
        [made, *(Made(operator.methodcaller("register", *pair), made) for pair in methods)],
        0,
    )


def found_by_name(value: Any) -> bool:
    """Can another process import it?"""
    module = sys.modules.get(value.__module__)
    try:
        return (
            value.__module__ != "__main__"
            and operator.attrgetter(value.__qualname__)(module) is value
        )
    except AttributeError:
        return False


RULES = {
    "functools": of_functools,
    "pyarrow": of_arrow,
    "pandas": of_pandas,
    "polars": of_polars,
    "torch": of_torch,
}
