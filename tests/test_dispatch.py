"""Dispatch: a trait object's bytes are what they're said to be, and callers needn't know which
backend serves.
"""

import ctypes
import gc
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.ideas import dispatch
from helpers.ideas.dispatch import CopiedWeights, MappedWeights, Negative, Positive, Service
from helpers.ideas.vtable import Affine, DynBackend, FatPointer, Scale, VTable, vtable_of, words_of
from helpers.measure import maps, where

doubles = st.floats(allow_nan=False, allow_infinity=False)
SHAPE = (16, 64)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "weights.bin"
    np.random.default_rng(0).random(SHAPE, "f4").tofile(path)
    return path


# --- the bytes ------------------------------------------------------------------------------------
def test_sizes_and_offsets():
    assert ctypes.sizeof(FatPointer) == 16
    assert ctypes.sizeof(VTable) == 32
    offsets = [(name, getattr(VTable, name).offset) for name, _ in VTable._fields_]
    assert offsets == [("drop", 0), ("size", 8), ("align", 16), ("infer", 24)]
    assert [name for name, _ in FatPointer._fields_] == [
        "data",
        "vtable",
    ]
    assert FatPointer.vtable.offset == 8


@pytest.mark.parametrize("kind, size", [(Scale, 8), (Affine, 16)])
def test_the_words_of_a_table(kind: type, size: int):
    table = vtable_of(kind)
    words = dict(words_of(table))
    assert list(words) == ["drop", "size", "align", "infer"]
    assert (
        words["size"],
        words["align"],
    ) == (size, 8)
    for name in ("drop", "infer"):
        assert words[name] == ctypes.cast(getattr(table, name), ctypes.c_void_p).value != 0
    assert words["drop"] != words["infer"]


def test_the_words_of_a_pointer_and_of_a_value():
    value = Affine(2.0, -0.5)
    fat = DynBackend.of(value).fat
    expected = [("data", ctypes.addressof(value)), ("vtable", ctypes.addressof(vtable_of(Affine)))]
    assert isinstance(fat, FatPointer)
    assert words_of(fat) == expected
    # IEEE 754: 2.0 and -0.5
    bits = [("factor", 0x4000_0000_0000_0000), ("offset", 0xBFE0_0000_0000_0000)]
    assert words_of(value) == bits


def test_values_of_a_type_share_a_table():
    one = DynBackend.of(Scale(1.0))
    other = DynBackend.of(Scale(2.0))
    different = DynBackend.of(Affine(1.0, 0.0))
    assert one.fat.vtable == other.fat.vtable != different.fat.vtable
    assert one.fat.data != other.fat.data


@given(doubles, doubles, doubles)
def test_through_the_table_and_by_name_are_the_same(factor: float, offset: float, x: float):
    for value in (Scale(factor), Affine(factor, offset)):
        assert DynBackend.of(value).infer(x) == value.infer(x) or value.infer(x) != value.infer(x)


def test_a_call_reads_the_table_and_the_value_and_looks_up_no_name():
    value = Scale(2.0)
    erased = DynBackend.of(value)
    value.infer = lambda x: "found by name"
    value.factor = 5.0
    assert erased.infer(3.0) == 15.0
    erased.fat.vtable = ctypes.addressof(vtable_of(Negated))
    assert erased.infer(3.0) == -15.0


class Negated(ctypes.Structure):
    """The same bytes as Scale, but another table."""

    _fields_ = (("factor", ctypes.c_double),)
    dropped: list[float] = []  # noqa: RUF012  the factors of those that were dropped

    def infer(self, x: float) -> float:
        return -self.factor * x

    def drop(self) -> None:
        self.dropped.append(self.factor)


def test_value_and_table_live_while_the_pointer_does():
    erased = [
        DynBackend.of(kind(float(i), *rest))
        for i in range(500)
        for kind, rest in ((Scale, ()), (Affine, (1,)))
    ]
    gc.collect()
    filler = [Scale(-1.0) for _ in range(2000)]  # would reuse any freed memory
    assert [one.infer(2.0) for one in erased] == [
        x for i in range(500) for x in (2.0 * i, 2.0 * i + 1)
    ]
    assert len(filler) == 2000


def test_drop_is_called_once():
    Negated.dropped.clear()
    erased = DynBackend.of(Negated(7.0))
    assert erased.infer(1.0) == -7.0
    assert Negated.dropped == []
    erased.drop()
    for use in (erased.drop, lambda: erased.infer(1.0)):
        with pytest.raises(ValueError, match="dropped"):
            use()
    assert Negated.dropped == [7.0]
    value = Affine(3.0, 4.0)
    DynBackend.of(value).drop()
    assert words_of(value) == [("factor", 0), ("offset", 0)]


class Small(ctypes.Structure):
    _fields_ = (("value", ctypes.c_int),)


def test_what_cannot_be_erased_is_said():
    for value in (3.0, Positive(), Small(1)):
        with pytest.raises(
            TypeError, match=r"pass a subclass of ctypes.Structure with a method infer"
        ):
            DynBackend.of(value)


# --- backends -------------------------------------------------------------------------------------
def test_a_service_serves_whatever_can_infer(path: Path):
    class Stranger:
        def infer(self, x):
            return ("stranger", x)

    service = Service(
        one for one in (Positive(), Negative(), Stranger(), DynBackend.of(Scale(2.0)))
    )
    assert service.infer_all(3.0) == service.infer_all(3.0) == [3.0, -3.0, ("stranger", 3.0), 6.0]
    x = np.arange(64, dtype="f4")
    copied, mapped = Service([CopiedWeights(path, SHAPE), MappedWeights(path, SHAPE)]).infer_all(x)
    assert copied.shape == (16,)
    assert np.array_equal(copied, mapped)
    assert np.array_equal(copied, np.fromfile(path, "f4").reshape(SHAPE) @ x)
    assert Service([]).infer_all(1) == []


@pytest.mark.skipif(bool(maps.why_not()), reason=maps.why_not() or "mappings can be read")
def test_one_backend_maps_and_one_copies(path: Path):
    descriptors = len(os.listdir("/proc/self/fd"))
    mapped = MappedWeights(path, SHAPE)
    copied = CopiedWeights(path, SHAPE)
    there = where(mapped.weights)
    assert (there.memory, there.path, there.offset) == ("file", path, 0)
    assert not there.writable
    assert where(copied.weights).memory != "file"
    assert copied.weights.flags.writeable
    assert len([region for region in maps.regions("self") if region.path == str(path)]) == 1
    del mapped
    assert not [region for region in maps.regions("self") if region.path == str(path)]
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.parametrize("kind", [CopiedWeights, MappedWeights])
def test_wrong_files(kind: type, path: Path, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"absent\.bin"):
        kind(tmp_path / "absent.bin", SHAPE)
    message = rf"{re.escape(str(path))} holds 4,096 bytes; weights \(16, 64\) of float64 take 8,192"
    with pytest.raises(ValueError, match=message):
        kind(path, SHAPE, "f8")
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="empty holds 0 bytes: no weights"):
        kind(tmp_path / "empty", (0, 3))
    assert kind(str(path), (32, 32)).weights.shape == (32, 32)


def test_once_per_array_is_the_same_work():
    xs = np.random.default_rng(1).random(1000)
    for backend in (Positive(), Negative()):
        expected = dispatch.once_per_array(backend, xs)
        assert dispatch.each_by_method(backend, xs) == expected.tolist()
        assert (
            dispatch.each_by_table({type(backend): type(backend).infer}, backend, xs)
            == expected.tolist()
        )
    with pytest.raises(KeyError):
        dispatch.each_by_table({Positive: Positive.infer}, Negative(), xs)
