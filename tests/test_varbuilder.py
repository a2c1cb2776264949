"""VarBuilder: names and shapes are checked, nothing is copied needlessly, and it says what was
copied.
"""

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from test_arena import LINUX, mapped
from test_safetensors import misaligned

from helpers.ideas.safetensors import SafetensorsError, save
from helpers.ideas.varbuilder import ROWS, LoadError, VarBuilder
from helpers.measure import where


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    gc.collect()
    assert not mapped(tmp_path)


@pytest.fixture
def model(folder: Path) -> Path:
    """Three layers (0 in float32, 1 in float16, 10 in float64) and an integer, `step`."""
    tensors = {"step": np.array(7)}
    for i, dtype in ((0, "f4"), (1, "f2"), (10, "f8")):
        tensors[f"layers.{i}.weight"] = np.arange(12, dtype=dtype).reshape(3, 4) + i
        tensors[f"layers.{i}.bias"] = np.full(3, i, dtype)
    save(tensors, folder / "model.safetensors")
    return folder / "model.safetensors"


def of_file(array: np.ndarray, path: Path) -> bool:
    """Is the array in a mapping of this file?"""
    return where(array).path == path if LINUX else array.base is not None


def message(weights: VarBuilder, shape: tuple, name: str) -> str:
    with pytest.raises(LoadError) as caught:
        weights.get(shape, name)
    assert not weights.taken, "what was not handed out was not taken"
    return str(caught.value)


def test_as_stored_everything_is_borrowed(model: Path):
    with VarBuilder.from_mapped(model) as weights:
        for i, dtype in ((0, "f4"), (1, "f2"), (10, "f8")):
            layer = weights.prefix("layers").prefix(str(i))
            weight = layer.get((3, 4), "weight")
            assert weight.dtype == dtype
            assert weight.tolist() == (np.arange(12.0).reshape(3, 4) + i).tolist()
            assert of_file(weight, model)
            assert not weight.flags.writeable
        assert weights.get((), "step") == 7
        assert set(weights.taken.values()) == {"borrowed"}
        assert layer.taken is weights.taken
        assert list(weights.taken) == [
            "layers.0.weight",
            "layers.1.weight",
            "layers.10.weight",
            "step",
        ]
    assert weight[0, 0] == 10, "it outlives the files"
    with pytest.raises(ValueError, match="closed"):
        layer.get((3,), "bias")


def test_another_dtype_is_copied_and_says_so(model: Path):
    with VarBuilder.from_mapped(str(model), np.float32) as weights:
        arrays = {i: weights.get([3, 4], f"layers.{i}.weight") for i in (0, 1, 10)}
        for i, array in arrays.items():
            assert array.dtype == np.float32
            assert array[2, 3] == 11 + i
            assert not array.flags.writeable
            assert of_file(array, model) == (i == 0)
        assert weights.get((), "step").dtype == np.float32
        assert weights.taken == {
            "layers.0.weight": "borrowed",
            "layers.1.weight": "copied: float16 to float32",
            "layers.10.weight": "copied: float64 to float32",
            "step": "copied: int64 to float32",
        }
        assert not np.shares_memory(weights.get((3, 4), "layers.1.weight"), arrays[1])


def test_bfloat16(folder: Path):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    path = folder / "model.safetensors"
    save({"x": np.array([1, 1.5, -2], bfloat16), "y": np.array([1.25], "f4")}, path)
    with VarBuilder.from_mapped(path, "f4") as weights:
        assert weights.get((3,), "x").tolist() == [1, 1.5, -2]
        assert weights.taken == {"x": "copied: bfloat16 to float32"}
    with VarBuilder.from_mapped(path, "bfloat16") as weights:
        assert of_file(weights.get((3,), "x"), path)
        assert weights.get((1,), "y")[0] == 1.25
        assert weights.taken == {"x": "borrowed", "y": "copied: float32 to bfloat16"}


def test_what_is_misaligned_is_copied(folder: Path):
    path = misaligned(folder / "model.safetensors")
    with VarBuilder.from_mapped(path) as weights:
        assert weights.get((2,), "b").tolist() == [1, 2]
        assert weights.get((1,), "a") == ord("x")
        assert weights.taken == {"b": "copied: misaligned", "a": "borrowed"}
        for name, shape in (("b", (2,)), ("a", (1,))):
            array = weights.get(shape, name)
            assert array.flags.aligned
            assert not array.flags.writeable
            assert of_file(array, path) == (name == "a")


def test_errors_name_what_was_expected_and_what_was_found(model: Path):
    with VarBuilder.from_mapped(model, "f2") as weights:
        layer = weights.prefix("layers.0")
        found = "layers.0.weight: expected float16 of shape (4, 3), found F32 of shape (3, 4)"
        assert message(layer, (4, 3), "weight") == found
        assert message(layer, (3, 4), "wieght").startswith(
            "layers.0.wieght: expected float16 of shape (3, 4), found no such tensor; names like "
            "it: layers.0.weight, "
        )
        assert "names like it: layers.1.bias, " in message(weights.prefix("layers"), (3,), "1bias")
        assert message(weights, (1,), "zzz").endswith("names like it: none")
    with VarBuilder.from_mapped(model) as weights:
        assert (
            message(weights, (1,), "step")
            == "step: expected any dtype of shape (1,), found I64 of shape ()"
        )
    with VarBuilder.from_mapped(model, "i4") as weights:
        assert (
            message(weights, (3,), "layers.0.bias")
            == "layers.0.bias: expected int32 of shape (3,), found F32 of shape (3,); "
            "float32 to int32 would lose more than digits"
        )


@pytest.mark.parametrize(
    ("stored", "wanted", "lost"),
    [
        ("i8", "i4", True),
        ("u8", "i8", True),
        ("u1", "i1", True),
        ("u1", "i2", False),
        ("?", "i8", False),
        ("i8", "f2", False),
        ("f8", "f2", False),
        ("c8", "f4", True),
        ("c8", "bfloat16", True),
        ("f4", "c8", False),
    ],
)
def test_numbers_do_not_wrap_around_nor_lose_their_other_half(
    folder: Path, stored: str, wanted: str, lost: bool
):
    pytest.importorskip("ml_dtypes")
    path = folder / "model.safetensors"
    save({"x": np.ones(3, stored)}, path)
    with VarBuilder.from_mapped(path, wanted) as weights:
        if lost:
            assert "would lose more than digits" in message(weights, (3,), "x")
        else:
            assert weights.get((3,), "x").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "dtype", ["float33", object(), "O", "U", "S4", "V8", "f4,f4", "(2,)f4", "c16", "M8[s]"]
)
def test_a_dtype_that_no_tensor_has(model: Path, dtype: object):
    with pytest.raises(LoadError, match=r"weights can't be .* choose one of bool, uint8"):
        VarBuilder.from_mapped(model, dtype)


def test_a_part_has_its_own_tensors_only(model: Path):
    with VarBuilder.from_mapped(model) as weights:
        assert "layers.1, 2 tensors" in repr(weights.prefix("layers.1")), "not those of layer 10"
        assert "none, 0 tensors" in repr(weights.prefix("none"))
        assert sorted(weights.prefix("layers").names)[:2] == ["0.bias", "0.weight"]
        assert len(weights.names) == 7


def test_shards(folder: Path):
    shards = {
        "a.safetensors": {"x": np.ones(2, "f4")},
        "b.safetensors": {"y.z": np.zeros((1, 2), "f2")},
    }
    for name, tensors in shards.items():
        save(tensors, folder / name)
    index = folder / "model.safetensors.index.json"
    index.write_text(
        json.dumps({"weight_map": {name: file for file, part in shards.items() for name in part}})
    )
    with VarBuilder.from_mapped(index, "f4") as weights:
        assert of_file(weights.get((2,), "x"), folder / "a.safetensors")
        assert weights.prefix("y").get((1, 2), "z").dtype == np.float32
        assert weights.taken == {"x": "borrowed", "y.z": "copied: float16 to float32"}
    (folder / "b.safetensors").write_bytes(b"")
    with pytest.raises(SafetensorsError) as caught:
        VarBuilder.from_mapped(index)
    assert not mapped(folder), caught  # its traceback holds what was open


def test_the_table(model: Path, folder: Path):
    with VarBuilder.from_mapped(model, "f4") as weights:
        assert repr(weights) == "VarBuilder(all, 7 tensors, 0 taken)"
        layer = weights.prefix("layers.10")
        layer.get((3, 4), "weight"), weights.get((3,), "layers.0.bias"), layer.get((3,), "bias")
        assert repr(layer).splitlines() == [
            "VarBuilder(layers.10, 2 tensors, 2 taken)",
            "  layers.10.weight  F64  (3, 4)  copied: float64 to float32",
            "  layers.10.bias    F64  (3,)    copied: float64 to float32",
        ]
        assert "  layers.0.bias     F32  (3,)    borrowed" in repr(weights).splitlines()
    save({str(i): np.zeros(1) for i in range(ROWS + 3)}, folder / "many.safetensors")
    with VarBuilder.from_mapped(folder / "many.safetensors") as weights:
        for number in range(ROWS + 3):
            weights.get((1,), str(number))
        assert len(repr(weights).splitlines()) == ROWS + 2
        assert repr(weights).endswith("  … and 3 more")
