"""Libraries that hold a file in C, as holders of it. Each is optional."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.measure import who_holds

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="which file a mapping shows is told by /proc"
)


def names(x: Any) -> set[str]:
    return {chain.name for chain in who_holds(x).chains}


def test_an_open_archive_of_numpy(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(5))
    archive = np.load(tmp_path / "a.npz")
    assert names(tmp_path / "a.npz") == {"archive.fid", "archive.zip.fp"}
    archive.close()
    assert not names(tmp_path / "a.npz")


# --- h5py -----------------------------------------------------------------------------------------
@pytest.fixture
def measured(tmp_path: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["group/x"] = np.arange(100)
    return tmp_path / "m.h5"


def test_a_dataset_keeps_its_file_open(measured: Path) -> None:
    import h5py

    file = h5py.File(measured)
    kept = SimpleNamespace(x=file["group/x"], shape=file["group/x"].shape)
    held = who_holds(measured)
    assert {chain.name for chain in held.chains} == {"file", "kept.x"}
    assert kept.shape
    assert all("descriptor" in chain.what for chain in held.chains)
    file.close()
    assert not names(measured)


def test_h5pys_own_object_is_found_too(measured: Path) -> None:
    import h5py

    low = h5py.File(measured)["group/x"].id
    assert names(measured) == {"low"}
    assert low.valid


# --- pyarrow --------------------------------------------------------------------------------------
@pytest.fixture
def pa() -> Any:
    return pytest.importorskip("pyarrow")


@pytest.fixture
def written(pa: Any, tmp_path: Path) -> Path:
    table = pa.table(
        {"n": range(10_000), "list": [[1, 2]] * 10_000, "text": ["some text"] * 10_000}
    )
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "w") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    return tmp_path / "t.arrow"


def test_what_is_made_of_a_mapped_table(pa: Any, written: Path) -> None:
    with pa.memory_map(str(written)) as source:
        table = pa.ipc.open_file(source).read_all()
    kept = SimpleNamespace(
        column=table["n"], one=[table["list"][5]], buffer=table["n"].chunk(0).buffers()[1]
    )
    array = [table["n"].chunk(0)]
    view = table["n"].chunk(0).to_numpy()
    assert names(written) == {
        "table",
        "kept.column",
        "kept.one[0]",
        "kept.buffer",
        "array[0]",
        "view",
    }
    assert kept
    assert array
    assert view.size
    assert names(table) >= {
        "table",
        "kept.column",
        "kept.one[0]",
        "kept.buffer",
        "array[0]",
        "view",
    }
    del table, kept, array, view
    assert not who_holds(written).mapped


def test_pandas_may_keep_a_mapped_column(pa: Any, written: Path) -> None:
    pd = pytest.importorskip("pandas")
    with pa.memory_map(str(written)) as source:
        frame = (
            pa.ipc.open_file(source)
            .read_all()
            .select(["text"])
            .to_pandas(types_mapper=pd.ArrowDtype)
        )
    (chain,) = who_holds(written).chains
    assert chain.name.startswith("frame._mgr…")
    assert "inside this BlockManager" in chain.where
    assert len(frame)


def test_a_parquet_file_that_does_not_tell(pa: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"n": range(5)}), tmp_path / "t.parquet")
    file = parquet.ParquetFile(tmp_path / "t.parquet")
    held = who_holds(tmp_path / "t.parquet")
    assert [chain.name for chain in held.chains] == [
        "file.reader…",
        "",
    ]
    assert "perhaps" in held.chains[0].what
    file.close()
    assert not names(tmp_path / "t.parquet")


def test_an_open_file_of_arrow(pa: Any, written: Path) -> None:
    source = pa.OSFile(str(written))
    # pyarrow 22 doesn't tell the descriptor
    assert names(written) - {""} == {"source"}
    assert source.size()
    source.close()
    mapped = pa.memory_map(str(written))
    assert names(written) == {"mapped"}
    assert mapped.size()
    mapped.close()
    assert not names(written)
