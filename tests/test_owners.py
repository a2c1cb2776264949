"""The walk from a view to the owner of its bytes, even past objects that lie about it."""

import ctypes
import mmap
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.owners import is_mapped_at, link_of, mapping_under, way_to_owner

RECORD = np.dtype([("x", "f4"), ("y", "f4")])


def types(view: Any) -> list[str]:
    return [type(one).__name__ for one in way_to_owner(view)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(bytes(4096))
    return tmp_path / "file"


def test_arrays_and_memoryviews():
    owner = bytearray(64)
    array = np.frombuffer(owner, RECORD)
    assert types(memoryview(array[1:]["y"].reshape(7, 1).T)) == [
        "memoryview",
        "ndarray",
        "ndarray",
        "memoryview",
        "bytearray",
    ]
    assert types(array[0]) == ["void", "ndarray", "memoryview", "bytearray"]
    assert way_to_owner(np.ndarray(3, buffer=owner))[-1] is owner
    strided = np.lib.stride_tricks.as_strided(array, (2, 2), (8, 8))
    assert types(strided) == ["ndarray", "DummyArray", "ndarray", "memoryview", "bytearray"]
    assert link_of(array).attribute == ".base"
    assert link_of(memoryview(owner)) == (".obj", owner)


def test_a_memmap_lies_over_its_mapping(path: Path):
    mapped = np.memmap(path, mode="r")
    assert types(np.asarray(mapped)[3:]) == ["ndarray", "ndarray", "memmap", "mmap"]
    assert mapping_under(mapped[5:]) is mapped._mmap
    assert mapping_under(mapped.copy()) is None


def test_shared_memory_lies_over_its_mapping():
    shared = SharedMemory(create=True, size=64)
    try:
        assert types(shared) == ["SharedMemory", "memoryview", "mmap"]
        assert (
            mapping_under(shared)
            is mapping_under(memoryview(shared.buf)[3:])
            is mapping_under(shared.buf)
        )
        shared.close()
        assert types(shared) == ["SharedMemory"]
    finally:
        shared.unlink()
    assert types(SharedMemory.__new__(SharedMemory)) == ["SharedMemory"]


def test_ctypes_over_the_memory_of_others():
    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_double * 2), ("second", ctypes.c_double))

    mapping = mmap.mmap(-1, mmap.PAGESIZE)
    over = (ctypes.c_float * 4).from_buffer(mapping, 64)
    assert types(over) == ["c_float_Array_4", "memoryview", "mmap"]
    assert mapping_under(np.ctypeslib.as_array(over)[1:]) is mapping
    assert types(Pair().first) == ["c_double_Array_2", "Pair"]
    assert types(ctypes.pointer(over)) == ["LP_c_float_Array_4", *types(over)]
    numbers = np.arange(4.0)
    assert way_to_owner(numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))[1] is numbers
    assert (
        types(ctypes.c_void_p(numbers.ctypes.data)) == types(ctypes.c_void_p()) == ["c_void_p"]
    ), "an address only"


def refused(*_: Any) -> Any:
    raise RuntimeError("not now")


class Itself(np.ndarray):
    base = property(lambda self: self)


class Raising(np.ndarray):
    base = nbytes = __len__ = __getattribute__ = property(refused)


class Guarded:
    """Like a proxy: looking at it the usual way runs its code."""

    __class__ = __dict__ = base = __array_interface__ = property(refused)
    __getattribute__ = __eq__ = __bool__ = refused


@pytest.mark.parametrize("kind", [Itself, Raising])
def test_what_a_subclass_says_of_its_base_is_not_asked(kind: type):
    owner = bytearray(64)
    assert way_to_owner(np.frombuffer(owner, np.uint8).view(kind))[-1] is owner


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc here")
def test_which_file_lies_at_an_address(path: Path):
    mapped = np.memmap(path, mode="r")
    first = mapped.__array_interface__["data"][0]
    assert [is_mapped_at(path, first + at) for at in (0, 4095, -1)] == [True, True, False]
    assert not is_mapped_at(path, np.zeros(3).ctypes.data)
    assert not is_mapped_at(path.parent, first)


def test_what_runs_in_a_ring_ends():
    class Between:
        def __init__(self, array: np.ndarray) -> None:
            self.__array_interface__ = array.__array_interface__
            self.base = self

    ring = Between(np.zeros(4))
    assert types(np.asarray(ring)) == ["ndarray", "Between"]
    assert types(ring) == ["Between"]

    class Knot(ctypes.Structure):
        pass

    Knot._fields_ = (("next", ctypes.POINTER(Knot)),)
    knot = Knot()
    knot.next = ctypes.pointer(knot)
    assert types(knot.next)[0] == "LP_Knot"
    assert len(types(knot.next)) < 4


def test_what_owns_its_bytes_leads_nowhere_and_no_code_of_an_object_runs():
    (released := memoryview(bytearray(3))).release()
    for owner in (
        b"bytes",
        np.zeros(3),
        mmap.mmap(-1, 16),
        ctypes.c_int(3),
        5,
        None,
        released,
        Guarded(),
    ):
        (one,) = way_to_owner(owner)
        assert one is owner
        assert link_of(owner) is None
        assert mapping_under(owner) in (None, owner)
