"""`where` for what libraries make: each buffer at the address that the library itself gives.
Skipped without them.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import where
from helpers.units import MiB, in_words

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory")
N = 100_000


def in_memory() -> int:
    """Anonymous memory of this process, in bytes: what a copy would add to."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * 4096


# --- pandas ---------------------------------------------------------------------------------------
def test_a_frame_shows_its_blocks_and_which_columns_share_them():
    pd = pytest.importorskip("pandas")
    base = np.arange(2.0 * N).reshape(N, 2)
    frame = pd.DataFrame(base, columns=["x", "y"], copy=False)
    parts = where(frame)
    assert list(parts) == ["x, y", "index"]
    assert "start, stop and step" in parts["index"]
    assert where(frame)["index"]
    assert frame.index.values is not None
    assert where(frame)["index"].address == frame.index.values.ctypes.data, "now there is an array"
    block = parts["x, y"]
    assert (block.address, block.layout) == (base.ctypes.data, f"float64 (2, {N}), F order")
    assert block.note == "a block, a row of it for each of 2 columns"
    assert block.owners[-1][0] == "ndarray"
    series = frame["x"]
    values = where(series)["values"]
    assert values.address == base.ctypes.data
    assert values.nbytes == 8 * N
    assert values.size == 16 * N - 8
    for shared in (values, where(frame)["x, y"]):
        assert "copy-on-write: another frame, series or index sees it too" in shared.note
    series.iloc[0] = 5
    assert where(series)["values"].address != base.ctypes.data
    assert "copy-on-write" not in repr(where(series))
    assert list(where(pd.DataFrame(np.zeros((3, 100))))) == ["0, 1, 2, 3 and 96 more", "index"]


def test_arrays_of_pandas_own_show_what_they_keep():
    pd = pytest.importorskip("pandas")
    columns = {
        "masked": pd.array([1, None, 3], "Int64"),
        "kind": pd.Categorical(["a", "b", "a"]),
        "when": pd.date_range("2024-01-01", periods=3),
        "thin": pd.arrays.SparseArray([0, 0, 7]),
        "range": pd.interval_range(0, 3),
        "any": pd.Series([[], {}, ()], dtype=object),
    }
    frame = pd.DataFrame(
        columns, index=pd.MultiIndex.from_product([["a"], [1, 2, 3]], names=["letter", None])
    )
    parts = where(frame)
    assert {
        "masked, data",
        "masked, mask",
        "kind",
        "when",
        "thin, values",
        "range, left",
        "range, right",
        "any",
        "index, letter, codes",
        "index, 1, labels",
    } <= set(parts)
    assert any(name.startswith("kind, categories") for name in parts)
    assert parts["masked, data"].address == frame["masked"].array._data.ctypes.data
    assert "references" in parts["any"].note
    keyed = pd.Series(range(N), index=np.random.default_rng(0).permutation(N))
    assert "index, lookup table" not in where(keyed)
    assert keyed.loc[7] is not None
    assert where(keyed)["index, lookup table"].startswith(
        in_words(keyed.index._engine.sizeof(deep=True), "bytes")
    )
    index = pd.Index(pd.Series(np.arange(5.0)))
    assert "copy-on-write" not in where(index).note
    assert "copy-on-write" in where(pd.Index(index, name="x")).note
    assert not any(part.startswith("not known") for part in parts.values() if isinstance(part, str))


def test_a_column_of_arrow_shows_arrows_buffers():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    text = pa.array(["one", None, "three"] * N, pa.large_string())
    series = pd.Series(text, dtype=pd.ArrowDtype(pa.large_string()))
    parts = where(series)
    for role, buffer in zip(
        ("validity", "offsets", "data"), series.array._pa_array.chunk(0).buffers(), strict=True
    ):
        assert parts[f"values, {role}"].address == buffer.address
    assert "values, data" in where(pd.Series(["a", "b"], dtype="str"))


# --- Arrow ----------------------------------------------------------------------------------------
def arrow_arrays(pa) -> dict:
    ints = pa.array([1, None, 3], pa.int32())
    return {
        "int32": ints,
        "bool": pa.array([True, None]),
        "string": pa.array(["a", None]),
        "view": pa.array(["a", None, "long enough to lie elsewhere"], pa.string_view()),
        "list": pa.array([[1], None, [2, 3]]),
        "spans": pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())),
        "fixed": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        "views": pa.array([["long enough to lie elsewhere"], None], pa.list_(pa.string_view())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None}]),
        "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        "dictionary": pa.array(["x", "y", None]).dictionary_encode(),
        "union": pa.UnionArray.from_sparse(
            pa.array([0, 1, 0], pa.int8()), [ints, pa.array(["x", "y", "z"])]
        ),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2])),
        "decimal": pa.array([1, None]).cast(pa.decimal128(20)),
    }


KINDS = {
    "int32": ["validity", "data"],
    "bool": ["validity", "data"],
    "string": ["validity", "offsets", "data"],
    "view": ["validity", "views", "data 0"],
    "list": ["validity", "offsets", "values, data"],
    "spans": ["validity", "offsets", "sizes", "values, data"],
    "fixed": ["validity", "values, validity", "values, data"],
    "views": ["validity", "offsets", "values, views", "values, data 0"],
    "struct": ["validity", "a, validity", "a, data", "b, validity", "b, offsets", "b, data"],
    "map": ["validity", "offsets", "keys, offsets", "keys, data", "items, data"],
    "dictionary": ["validity", "indices", "dictionary, offsets", "dictionary, data"],
    "union": ["types", "0, validity", "0, data", "1, offsets", "1, data"],
    "runs": ["run_ends, data", "values, data"],
    "decimal": ["validity", "data"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_buffer_of_an_array_has_its_role(kind: str):
    array = arrow_arrays(pytest.importorskip("pyarrow"))[kind]
    for shown in (array, array[1:]):
        parts = where(shown)
        assert list(parts) == KINDS[kind]
        own = {buffer.address for buffer in shown.buffers() if buffer}
        if kind == "dictionary":
            own |= {buffer.address for buffer in shown.dictionary.buffers() if buffer}
        assert {part.address for part in parts.values()} == own


def test_a_table_shows_columns_chunks_and_slices():
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange(N)
    column = pa.chunked_array([pa.array(numbers), pa.array([1, 2])])
    table = pa.table({"a": column, "b": pa.array(["x"] * (N + 2))})
    parts = where(table)
    assert list(parts) == ["a, chunk 0, data", "a, chunk 1, data", "b, offsets", "b, data"]
    assert parts["a, chunk 0, data"].address == numbers.ctypes.data
    part = where(table.slice(10, 20))["a, data"]
    assert part.address == numbers.ctypes.data
    assert part.note == "int64, elements 10 to 30"
    batch, *_ = table.to_batches()
    assert where(batch)["a, data"].address == numbers.ctypes.data


def test_a_mapped_table_lies_in_its_file_and_a_slice_of_a_buffer_keeps_it_all(tmp_path: Path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": np.arange(N)})
    with (
        pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    with pa.memory_map(str(tmp_path / "x.arrow")) as source:
        part = where(pa.ipc.open_file(source).read_all())["a, data"]
        assert (part.memory, part.path, part.writable) == ("file", tmp_path / "x.arrow", False)
    whole = pa.py_buffer(bytes(1000))
    assert where(whole[10:20]).owners == (
        ("Buffer", "10 bytes, a slice"),
        ("Buffer", "1,000 bytes"),
    )


# --- polars ---------------------------------------------------------------------------------------
def test_polars_buffers_are_its_own_and_not_copies():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    numbers = np.arange(N, dtype=np.float64)
    frame = pl.DataFrame(
        {"a": numbers, "t": ["a text that is longer than a view"] * N, "n": [1, None] * (N // 2)}
    )
    parts = where(frame)
    before = in_memory()
    again = where(frame)
    assert in_memory() - before < 4 * MiB
    assert {"a, data", "t, views", "t, data 0", "n, validity", "n, data"} <= set(parts)
    for name, part in parts.items():
        assert part.address == again[name].address
    assert parts["a, data"].address == frame["a"].to_numpy().ctypes.data
    assert parts["a, data"].note == "polars' own; double, elements 0 to 100,000"
    kinds = pl.Series(["a", "b"] * 10 * N, dtype=pl.Categorical)
    before = in_memory()
    assert where(kinds)["buffers"].startswith(
        "not lent: polars has some of it in a form of its own"
    )
    assert in_memory() - before < 4 * MiB
    assert where(pl.Series([None, None]))["…"] == "it has no buffer"
    two = pl.concat([frame["a"], frame["a"]], rechunk=False)
    assert [where(two)[f"chunk {n}, data"].address for n in (0, 1)] == [
        parts["a, data"].address
    ] * 2
    assert where(frame.lazy())["plan"].startswith("no numbers")


def test_without_arrow_polars_says_what_to_do():
    pytest.importorskip("polars")
    code = "import polars; from helpers.measure import where; print(where(polars.Series([1])))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "import pyarrow, and ask again" in said


# --- SciPy ----------------------------------------------------------------------------------------
def test_a_sparse_matrix_shows_its_arrays():
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.eye_array(N, format="csr")
    assert {name: part.address for name, part in where(rows).items()} == {
        name: getattr(rows, name).ctypes.data for name in ("indices", "indptr", "data")
    }
    assert [*where(sparse.coo_matrix(rows))] == ["coords", "coords #2", "data"]


# --- torch ----------------------------------------------------------------------------------------
def test_a_tensor_is_a_view_of_its_storage():
    torch = pytest.importorskip("torch")
    base = torch.zeros(1000, 10)
    column = where(base[5:, 3])
    assert column.address == base.data_ptr() + 53 * 4
    assert column.nbytes == 995 * 4
    assert column.size == (994 * 10 + 1) * 4
    assert column.layout == "float32 (995,), neither C nor F order, strides (40,) bytes"
    assert column.owners == (
        ("Tensor", "a view of 3.89 KiB, from element 53"),
        ("UntypedStorage", "owns its 39.1 KiB"),
    )
    assert where(base).layout == "float32 (1000, 10), C order"
    assert "F order" in where(base.T).layout
    assert where(torch.nn.Parameter(base)).address == base.data_ptr()
    assert where(base).note == ""
    array = np.zeros(10)
    at = where(torch.from_numpy(array))
    assert at.address == array.ctypes.data
    assert "somebody else's" in at.owners[-1][1]
    assert where(torch.zeros(1000).share_memory_()).memory == "shared memory"


def test_a_tensor_elsewhere_or_in_several_parts():
    torch = pytest.importorskip("torch")
    assert "on meta" in where(torch.zeros(3, device="meta"))["elements"]
    assert list(where(torch.eye(3).to_sparse())) == ["indices", "values"]
    assert list(where(torch.eye(3).to_sparse_csr())) == ["crow_indices", "col_indices", "values"]
    ragged = [torch.zeros(3), torch.zeros(4)]
    assert list(where(torch.nested.nested_tensor(ragged, layout=torch.jagged))) == [
        "values",
        "offsets",
    ]
    assert where(torch.nested.nested_tensor(ragged))["1"].nbytes == 16
    with pytest.raises(ValueError, match="an empty Tensor"):
        where(torch.zeros(0))


# --- datasets in files ----------------------------------------------------------------------------
def test_an_hdf5_dataset_is_a_handle(tmp_path: Path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["plain"] = np.arange(N)
        file.create_dataset(
            "packed", data=np.zeros((1000, 100)), chunks=(100, 100), compression="gzip"
        )
    with h5py.File(tmp_path / "x.h5", rdcc_nbytes=2 * MiB) as file:
        packed = where(file["packed"])
        plain = where(file["plain"])
        assert packed["chunk cache"] == "HDF5's own, at most 2 MiB for each open dataset"
        assert "in the file x.h5: float64 (1000, 100), " in packed["elements"]
        assert "in chunks of (100, 100), gzip" in packed["elements"]
        assert "x[...] reads 781 KiB into an array, where(x[...])" in packed["in memory"]
        begin = file["plain"].id.get_offset()
        assert f"from byte {begin:,} on, as they are: np.memmap lends them" in plain["elements"]
        assert np.array_equal(np.memmap(tmp_path / "x.h5", int, "r", begin, N), np.arange(N))
        assert "open file x.h5" in where(file)["handle"]
        assert where(file["plain"][...]).memory == "heap"
        dataset = file["plain"]
    assert where(dataset)["handle"] == where(file)["handle"] == "closed"


def test_a_zarr_array_is_a_handle(tmp_path: Path):
    zarr = pytest.importorskip("zarr", minversion="3")
    on_disk = zarr.create_array(
        tmp_path / "x.zarr", shape=(1000, 100), chunks=(100, 100), dtype="f8"
    )
    on_disk[:] = np.random.default_rng(1).random((1000, 100))
    parts = where(on_disk)
    assert "in chunks of (100, 100), ZstdCodec, in file://" in parts["elements"]
    assert parts["cache"] == "none"
    assert "x[...] decodes 781 KiB into an array, where(x[...])" in parts["in memory"]
    store = zarr.storage.MemoryStore()
    group = zarr.create_group(store)
    group.create_array("a", data=np.random.default_rng(1).random(1000), chunks=(500,))
    kept = where(group["a"])
    assert {"stored a/zarr.json", "stored a/c/0", "stored a/c/1"} <= set(kept)
    assert kept["stored a/c/0"].note == "encoded"
    assert kept["stored a/c/0"].address == store._store_dict["a/c/0"]._data.ctypes.data
    assert "ask about an array" in where(group)["handle"]


def test_an_xarray_variable_shows_what_it_wraps(tmp_path: Path):
    xr = pytest.importorskip("xarray")
    numbers = np.arange(1000.0)
    array = xr.DataArray(numbers, dims="x", coords={"x": np.arange(1000)})
    parts = where(array)
    assert parts["values"].address == numbers.ctypes.data
    assert parts["values"].owners[-1][0] == "ndarray"
    assert "PandasIndexingAdapter" in parts["coordinate x"].note
    assert set(where(array.to_dataset(name="a"))) == {"a", "x"}
    assert where(array.variable).address == numbers.ctypes.data
    pytest.importorskip("dask")
    assert where(array.chunk(x=100))["values, plan"].startswith("of 10 chunks, no numbers")


def test_a_lazy_variable_is_said_to_be_lazy(tmp_path: Path):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("zarr", minversion="3")
    xr.Dataset({"a": ("x", np.arange(1000.0))}).to_zarr(tmp_path / "x.zarr", zarr_format=2)
    with xr.open_zarr(tmp_path / "x.zarr", chunks=None) as lazy:
        said = where(lazy["a"])["values"]
        assert said.startswith(
            "lazy, none of it is in memory: x.load() reads it (MemoryCachedArray"
        )
        assert where(lazy["a"])["values"] == said, "looking has read nothing"
        lazy["a"].load()
        assert where(lazy["a"])["values"].address == lazy["a"].values.ctypes.data


# --- images ---------------------------------------------------------------------------------------
def test_an_image_shows_who_has_its_pixels(tmp_path: Path):
    image = pytest.importorskip("PIL.Image")
    made = image.new("RGB", (100, 50))
    made.save(tmp_path / "x.png")
    with image.open(tmp_path / "x.png") as lazy:
        assert where(lazy)["pixels"] == "RGB, 100 x 50 pixels, not in memory: x.load() decodes them"
        assert lazy._im is None, "looking has decoded nothing"
    made.convert("L").save(tmp_path / "x.tif")
    with image.open(tmp_path / "x.tif") as mapped:
        mapped.load()
        assert where(mapped)["pixels"].path == tmp_path / "x.tif"


def test_pillow_lends_its_pixels_to_arrow(tmp_path: Path):
    image = pytest.importorskip("PIL.Image")
    made = image.new("RGB", (100, 50))
    if not hasattr(made, "__arrow_c_array__"):
        assert "lends to nobody" in where(made)["pixels"]
        pytest.skip("this Pillow lends nothing to Arrow")
    code = (
        "from PIL import Image; from helpers.measure import where; print(where(Image.new('L', (9,"
        " 9))))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "import pyarrow, and ask again" in said
    pytest.importorskip("pyarrow")
    numbers = np.zeros((50, 100), np.uint8)
    lent = where(image.fromarray(numbers))["pixels, data"]
    assert lent.address == numbers.ctypes.data
    assert "a buffer that was lent to Pillow" in lent.note
    own = where(made)["pixels, values, data"]
    made.putpixel((1, 0), (7, 8, 9))
    assert ctypes.string_at(own.address + 4, 3) == bytes([7, 8, 9])
    assert "Pillow's own" in own.note
    assert "in several blocks" in where(image.new("RGB", (5000, 3000)))["pixels"]


def test_nothing_is_imported_for_a_value():
    code = (
        "import sys; from helpers.measure import where; import numpy; where(numpy.zeros(3)); "
        "print(len(sys.argv))"
    )
    code += (
        "; print(sorted({'pandas', 'pyarrow', 'polars', 'torch', 'h5py', 'zarr', 'PIL'} & "
        "set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split(
            "\n"
        )[1]
        == "[]"
    )
