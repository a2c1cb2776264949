"""What is carried to a fresh process arrives as it was: views as views, and what shares memory
sharing it.
"""

import array
import ctypes
import io
import mmap
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from helpers.measure import measure
from helpers.measure.pickling import CannotTravel, Pickler
from helpers.units import MiB

DTYPES = ("u1", "<i4", ">f8", "S3", "M8[s]", "O", [("a", "i2"), ("b", "f4", (2,))])
STEPS = (
    "slice",
    "reverse",
    "transpose",
    "broadcast",
    "windows",
    "bytes",
    "field",
    "read-only",
    "records",
)


def carried(*values: Any) -> tuple:
    return pickle.loads(payload(*values))


def payload(*values: Any) -> bytes:
    file = io.BytesIO()
    Pickler(file).dump(values)
    return file.getvalue()


@st.composite
def owners(draw: st.DrawFn) -> np.ndarray:
    """Arrays that own their bytes, in any order of their axes."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    if dtype.hasobject:
        flat = np.arange(np.prod(shape)).astype(dtype)
    else:
        flat = np.resize(np.arange(251, dtype=np.uint8), np.prod(shape) * dtype.itemsize).view(
            dtype
        )
    return flat.reshape(shape).transpose(draw(st.permutations(range(len(shape))))).copy("K")


@st.composite
def views(draw: st.DrawFn, view: np.ndarray) -> np.ndarray:
    for step in draw(st.lists(st.sampled_from(STEPS), max_size=3)):
        match step:
            case "slice":
                starts = [
                    slice(draw(st.integers(0, size)), None, draw(st.integers(1, 3)))
                    for size in view.shape
                ]
                view = view[tuple(starts)]
            case "reverse" if view.ndim:
                view = view[::-1]
            case "transpose":
                view = view.T
            case "broadcast":
                view = np.broadcast_to(view, (2, *view.shape))
            case "windows" if view.ndim == 1 and len(view) > 2:
                view = as_strided(view, (len(view) - 2, 3), view.strides * 2)
            case "bytes" if view.dtype != object and view.flags.c_contiguous and view.ndim:
                view = view.reshape(-1).view(np.uint8)
            case "field" if view.dtype.names:
                view = view["b"]
            case "read-only":
                view = view.view()
                view.flags.writeable = False
            case "records":
                view = view.view(np.recarray)
    return view


@given(st.data())
def test_any_views_arrive_as_they_were(data: st.DataObject):
    bases = data.draw(st.lists(owners(), min_size=1, max_size=2))
    before = [
        data.draw(views(data.draw(st.sampled_from(bases))))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    after = carried(*before)
    for was, now in zip(before, after, strict=True):
        assert (type(now), now.dtype, now.shape) == (type(was), was.dtype, was.shape)
        assert repr(now.tolist()) == repr(was.tolist())
        if was.nbytes:  # where there is none, there is nothing to be a view of
            assert now.strides == was.strides
            flags = ("c_contiguous", "f_contiguous", "writeable", "aligned")
            assert [getattr(now.flags, flag) for flag in flags] == [
                getattr(was.flags, flag) for flag in flags
            ]
    pairs = [(i, j) for i in range(len(before)) for j in range(i)]
    for i, j in pairs:
        assert np.shares_memory(after[i], after[j]) == np.shares_memory(before[i], before[j])


def test_what_is_shown_often_is_sent_once():
    base = np.zeros((4, MiB // 4), np.uint8)
    shown = base, base[:, ::-1], base.T, sliding_window_view(base[0], 1000), memoryview(base[1])
    assert len(payload(*shown)) < 1.01 * MiB


@pytest.mark.parametrize(
    "owner",
    [bytes(64), bytearray(64), array.array("I", range(16))],
    ids=lambda owner: type(owner).__name__,
)
def test_a_view_of_bytes_has_its_owner(owner: Any):
    whole = memoryview(owner).cast("B")
    given = (
        owner,
        np.frombuffer(owner, np.uint16)[::-1],
        whole[8:24],
        whole[8:24].cast("I"),
        whole.cast("B", [8, 8]),
    )
    (same, pairs, row, words, table, steps, none) = carried(
        *given, whole[::3], memoryview(owner)[:0]
    )
    assert row.obj is words.obj is same
    assert steps.strides == (3,)
    assert bytes(steps) == bytes(whole[::3])
    assert none.format == memoryview(owner).format
    assert type(same) is type(owner)
    assert same == owner
    assert pairs.tolist() == given[1].tolist()
    assert pairs.strides == (-2,)
    assert [(v.format, v.shape, v.readonly, v.tolist()) for v in (row, words, table)] == [
        (v.format, v.shape, v.readonly, v.tolist()) for v in given[2:]
    ]
    for view in (pairs, row, words, table, steps):
        assert np.shares_memory(np.asarray(view), np.frombuffer(same, np.uint8))
    assert carried(same, memoryview(same).toreadonly())[1].readonly


def test_a_measured_function_sees_who_shares_what():
    base = np.zeros((400, 300, 3), np.uint8)
    view = base[:, :, ::-1]
    run = measure(
        lambda: (np.shares_memory(base, view), view.strides, np.ascontiguousarray(view).nbytes)
    )
    assert run.value == (True, view.strides, base.nbytes)


def test_what_would_arrive_as_something_else_is_refused(tmp_path: Path):
    (path := tmp_path / "file").write_bytes(bytes(4096))
    frozen = np.zeros(8)
    writable = frozen[2:]
    frozen.flags.writeable = False
    named = frozen.view(type("Named", (np.ndarray,), {}))
    named.unit = "m"
    beyond = as_strided(np.zeros(4), (8,), (8,))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping, path.open() as text:
        cases = {
            "it shows a mapped file": [
                np.memmap(path, np.uint8, "r")[10:],
                np.asarray(mapping),
                memoryview(mapping),
            ],
            "it is an open file": [text],
            "more memory than its owner": [beyond],
            "has become read-only": [writable],
            "leaves out the attributes": [named],
            "a memoryview whose format": [memoryview((ctypes.c_char * 3)())],
        }
        for words, values in cases.items():
            for value in values:
                with pytest.raises(CannotTravel, match=words):
                    payload(value)
        del cases, values, value


# --- what libraries hold --------------------------------------------------------------------------
def test_frames_and_series_over_one_array_still_share_it_and_copy_on_write():
    pd = pytest.importorskip("pandas", minversion="3")
    base = np.arange(float(MiB // 4)).reshape(-1, 2)
    frame = pd.DataFrame(base, columns=["x", "y"], copy=False)
    given = base, frame, frame["x"], pd.Index(frame["x"])
    there, same, column, index = carried(*given)
    assert len(payload(*given)) < 1.01 * base.nbytes
    assert same.equals(frame)
    assert np.shares_memory(there, same["y"].to_numpy())
    assert np.shares_memory(there, column.to_numpy())
    column.iloc[0] = 77
    assert same["x"].iloc[0] == index[0] == there[0, 0] == 0


def test_arrow_and_polars_send_a_buffer_once():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": np.arange(MiB // 8), "t": ["text", None] * (MiB // 16)})
    whole, part = carried(table, table.slice(10, 20))
    assert whole.equals(table)
    assert part.equals(table.slice(10, 20))
    assert len({t["a"].chunk(0).buffers()[1].address for t in (whole, part)}) == 1
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(table).with_columns(k=pl.lit("one").cast(pl.Categorical))
    same, column = carried(frame, frame["a"])
    assert same.equals(frame)
    assert same.schema == frame.schema
    assert column.equals(frame["a"])


def test_tensors_still_show_one_storage():
    torch = pytest.importorskip("torch")
    base = torch.zeros(1000, 10)
    array = np.zeros(10)
    given = base, base[5:, 3], torch.nn.Parameter(base), array, torch.from_numpy(array)
    same, column, parameter, numbers, shown = carried(*given)
    column[0], shown[0] = 5, 6
    assert column.stride() == (10,)
    assert same[5, 3] == parameter[5, 3] == 5
    assert numbers[0] == 6
    with pytest.raises(CannotTravel, match="mapped file or shared memory"):
        payload(torch.zeros(1000).share_memory_())
