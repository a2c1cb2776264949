"""Lesson 06: the quizzes' answers, found by measuring."""

import ctypes
import timeit

import numpy as np

from helpers.ideas import dispatch, vtable
from helpers.measure import twin


def by_position() -> int:
    """2 if a call through a table goes wherever the word at the method's offset says, in a table
    without any name.
    """
    affine, scale = vtable.Affine(3.0, 1.0), vtable.Scale(3.0)
    words = [word for _, word in vtable.words_of(vtable.vtable_of(vtable.Affine))]
    nameless = (ctypes.c_size_t * len(words))(*words)
    fat = vtable.FatPointer(ctypes.addressof(affine), ctypes.addressof(nameless))
    backend = vtable.DynBackend(fat, (affine, nameless))
    as_before = backend.infer(2.0) == affine.infer(2.0)
    nameless[3] = vtable.words_of(vtable.vtable_of(vtable.Scale))[3][1]
    return 2 if as_before and backend.infer(2.0) == scale.infer(2.0) != affine.infer(2.0) else 0


def mispredicted() -> int:
    """1 if calls of three types cost more in random order than sorted, and a call through a table
    next to nothing more than any other call; by the Rust twin, run here or recorded.
    """
    ns = twin("dispatch").figures["ns per call"]
    order = ns["Box<dyn> (shuffled)"] - ns["Box<dyn> (sorted)"]
    table = ns["&dyn"] - ns["static (not inlined)"]
    return 1 if ns["Box<dyn> (shuffled)"] > 1.5 * ns["Box<dyn> (sorted)"] and order > table else 0


def fastest() -> int:
    """3 if one dispatch for an array is 10 times as fast as one for each number, by method or by
    table.
    """
    backend, xs = dispatch.Negative(), [float(i) for i in range(20_000)]
    array, table = np.array(xs), {dispatch.Negative: dispatch.Negative.infer}
    method, by_table, once = (
        min(timeit.repeat(work, number=1, repeat=7))
        for work in (
            lambda: dispatch.each_by_method(backend, xs),
            lambda: dispatch.each_by_table(table, backend, xs),
            lambda: dispatch.once_per_array(backend, array),
        )
    )
    return 3 if 10 * once < min(method, by_table) else 0 if method < by_table else 1
