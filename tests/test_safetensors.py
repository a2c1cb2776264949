"""The reader and writer of safetensors files: each rule, where the tensors lie, and the reference
implementation.
"""

import gc
import json
import os
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each_of

from helpers.ideas import safetensors as ours
from helpers.ideas.safetensors import (
    SafetensorsError,
    ShardedFile,
    TensorFile,
    open_tensors,
    read_header,
    save,
)
from helpers.ideas.tensor_header import INDEX_RULES, RULES
from helpers.measure import measure

LINUX = sys.platform == "linux"


def file_of(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """The bytes of a file. A header that isn't bytes is written as JSON; its length is right unless
    given.
    """
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def one(data: bytes = b"x", **fields: object) -> bytes:
    """A file with one tensor of one byte; `fields` replaces some of its fields, or leaves them out
    (...).
    """
    table = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]} | fields
    return file_of(
        {"a": {field: value for field, value in table.items() if value is not ...}}, data
    )


def raw(
    shape: bytes = b"[1]", offsets: bytes = b"[0,1]", more: bytes = b"", data: bytes = b"x"
) -> bytes:
    """The same, with JSON that json.dumps wouldn't write."""
    return file_of(
        b'{"a":{"dtype":"U8","shape":%b,"data_offsets":%b}%b}' % (shape, offsets, more), data
    )


def two(first: list[int], second: list[int], size: int) -> bytes:
    """A file with tensors "a" and "b" at these offsets, and `size` bytes of data."""
    table = {
        name: {"dtype": "U8", "shape": [max(0, end - begin)], "data_offsets": [begin, end]}
        for name, (begin, end) in {"a": first, "b": second}.items()
    }
    return file_of(table, bytes(size))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def mapped(path: Path) -> list[range]:
    """Where this process has mapped the file, from /proc/self/maps."""
    lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    spans = [
        line[0].split("-")
        for line in lines
        if len(line) == 6 and line[5].split(" (deleted)")[0] == str(path)
    ]
    return [range(int(begin, 16), int(end, 16)) for begin, end in spans]


@pytest.fixture(autouse=True)
def nothing_stays_mapped(tmp_path: Path) -> Iterator[None]:
    yield
    if LINUX and f"{tmp_path}/" in Path("/proc/self/maps").read_text():
        gc.collect()
        assert f"{tmp_path}/" not in Path("/proc/self/maps").read_text()


# The rules

BROKEN = [
    ("too short", b"", "0 bytes"),
    ("header too long", file_of({}, length=100_000_001), "100,000,001"),
    ("header beyond file", file_of({}, length=3), "say 3, and 2 bytes follow"),
    ("not an object", file_of(b" {}"), "b' {}'"),
    ("not UTF-8", file_of(b'{"\xff":1}'), "position 2"),
    ("not UTF-8", file_of(b'{"__metadata__":{"a":"\\ud83d"}}'), "surrogates"),
    (
        "not UTF-8",
        file_of(b'{"\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
        "surrogates",
    ),
    ("not JSON", file_of(b"{"), "line 1 column 2"),
    ("not JSON", raw(shape=b"[" * 100_000 + b"]" * 100_000), "nested too deep"),
    ("not JSON", raw(offsets=b"[0," + b"1" * 10_000 + b"]"), "4300 digits"),
    (
        "duplicate key",
        raw(more=b',"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'),
        "'a' does",
    ),
    ("duplicate key", file_of(b'{"__metadata__":{"k":"1","k":"2"}}'), "'k' does"),
    ("metadata", file_of({"__metadata__": None}), "None"),
    ("metadata", file_of({"__metadata__": {"k": 1}}), "'k' is 1"),
    ("fields", file_of({"a": None}), "None"),
    ("fields", one(shape=...), "dtype"),
    ("fields", one(strides=[1]), "strides"),
    ("dtype", one(dtype="U9"), "'U9'"),
    ("dtype", one(dtype=["U8"]), "U8"),
    ("shape", one(shape=1), "shape is 1"),
    ("shape", one(shape=[-1]), "-1"),
    ("shape", one(shape=[True]), "True"),
    ("shape", one(shape=[2**64]), "18446744073709551616"),
    ("shape", raw(shape=b"[1.0]"), "[1.0]"),
    ("shape", raw(shape=b"[NaN]"), "NaN"),
    ("shape", one(shape=[1] * 65), "1, 1"),
    ("offsets", one(data_offsets=[0]), "[0]"),
    ("offsets", one(data_offsets=[0, None]), "None"),
    ("offsets", raw(offsets=b"[0,1.0]"), "1.0"),
    ("offsets", one(data_offsets=[0, 2**64]), "18446744073709551616"),
    ("hole or overlap", one(data_offsets=[1, 2], data=b"xx"), "begins at 1, not 0"),
    ("hole or overlap", two([0, 2], [3, 4], 4), "begins at 3, not 2"),
    ("hole or overlap", two([0, 2], [1, 3], 3), "begins at 1, not 2"),
    ("end before begin", two([0, 2], [2, 1], 2), "from 2 to 1"),
    ("overflow", one(shape=[2**32, 2**32]), "4294967296, 4294967296"),
    (
        "overflow",
        one(shape=[0, 2**63, 2**63], data_offsets=[0, 0], data=b""),
        "0, 9223372036854775808",
    ),
    ("part of a byte", one(dtype="F4", shape=[1]), "4 bits"),
    ("wrong size", one(shape=[2]), "1 bytes, U8 of shape (2,) needs 2"),
    ("wrong size", one(shape=[2**60], data_offsets=[0, 1]), "needs 1152921504606846976"),
    ("file length", one(data=b"xx"), "ends at byte 69, the file at 70"),
    ("file length", file_of({}, b"x"), "ends at byte 10"),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_broken_rule_is_named_with_what_is_there(number: int):
    rule, data, saw = BROKEN[number]
    with pytest.raises(SafetensorsError) as caught:
        read_header(data)
    error = caught.value
    assert error.rule == rule
    assert saw in error.saw
    assert error.path is None
    assert RULES[rule] in str(error)
    about_a_tensor = (
        list(RULES).index(rule) >= list(RULES).index("fields") and rule != "file length"
    )
    assert (error.tensor in ("a", "b")) == about_a_tensor
    assert f"tensor {error.tensor!r}" in str(error) or not about_a_tensor
    again = pickle.loads(pickle.dumps(error))
    assert (again.rule, again.tensor, str(again)) == (rule, error.tensor, str(error))


LEGAL = {
    "nothing": file_of({}),
    "nothing but metadata": file_of({"__metadata__": {"k": "v", "": ""}}),
    "white space after it": file_of(b"{} \n\t\r  "),
    "rank 0": one(shape=[]),
    "rank 64": one(shape=[1] * 64),
    "no elements": one(shape=[0, 2**40], data_offsets=[0, 0], data=b""),
    "an empty one between": two([0, 0], [0, 2], 2),
    "in another order": two([2, 3], [0, 2], 3),
    "an empty name": file_of({"": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"x"),
    "a pair of surrogates": file_of(
        b'{"\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"
    ),
    "a backslash and a u": file_of(
        b'{"\\\\ud83d":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"
    ),
    "two elements a byte": one(dtype="F4", shape=[2]),
    "a minus before 0": raw(offsets=b"[-0,1]"),
}


@pytest.mark.parametrize("what", LEGAL)
def test_legal_header_is_read(what: str):
    data = LEGAL[what]
    header = read_header(data)
    assert header.size == 8 + int.from_bytes(data[:8], "little")
    assert (
        sum(entry.end - entry.begin for entry in header.entries.values()) == len(data) - header.size
    )
    assert read_header(data[: header.size], len(data)) == header, "the head is enough"
    assert (
        read_header(memoryview(bytearray(data)))
        == read_header(np.frombuffer(data, np.uint8))
        == header
    )


def test_the_layout_in_bytes_of_the_file():
    header = read_header(two([2, 3], [0, 2], 3))
    assert header.entries == {"b": ("b", "U8", (2,), 128, 130), "a": ("a", "U8", (1,), 130, 131)}
    assert list(header.entries) == ["b", "a"]
    assert header.metadata == {}


def test_a_head_that_is_too_short_is_the_callers_fault():
    with pytest.raises(ValueError, match="ends at byte 68: pass that many bytes, not 20") as caught:
        read_header(one()[:20], 69)
    assert not isinstance(caught.value, SafetensorsError)


def test_messages_stay_short():
    name = "n" * 10_000
    with pytest.raises(SafetensorsError) as caught:
        read_header(
            file_of({name: {"dtype": [[[[[[[[name]]]]]]]], "shape": [9] * 99, "data_offsets": []}})
        )
    assert caught.value.tensor == name
    assert len(str(caught.value)) < 500
    wide: object = "x" * 1000
    for _ in range(6):
        wide = [wide] * 6
    with pytest.raises(SafetensorsError) as caught:
        read_header(file_of({"a": wide}))
    assert caught.value.rule == "fields"
    assert len(str(caught.value)) < 500


HOSTILE = {
    "constants": b'{"a":[%s0]}' % (b"NaN," * 600_000),
    "lists": b'{"a":[%s0]}' % (b"[]," * 800_000),
    "objects": b'{"a":[%s0]}' % (b"{}," * 800_000),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_header_takes_little_more_than_its_length(kind: str):
    """In a process of its own, because tracemalloc counts every thread, no matter what
    started it.
    """

    def refused(data: bytes) -> tuple[str, str, int]:
        import tracemalloc

        tracemalloc.start()
        try:
            read_header(data)
        except SafetensorsError as error:
            return error.rule, str(error), tracemalloc.get_traced_memory()[1]

    data = file_of(HOSTILE[kind])
    rule, said, peak = measure(refused, data).value
    assert rule == "fields"
    assert re.search(r"its 2,\d{3},\d{3} bytes hold \S+ objects", said)
    assert peak < 6 * len(data)


# A file

EVERY = {
    **{
        kind: np.arange(6).astype(kind).reshape(2, 3)
        for kind in ours.DTYPES.values()
        if hasattr(np, kind)
    },
    "scalar": np.array(-0.0),
    "empty": np.zeros((3, 0, 2), "i4"),
    "nan": np.array([np.nan, np.inf], "f4"),
}


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


def misaligned(path: Path) -> Path:
    """Tensors "a" of one byte, "b" of two float32 that begin at an odd place, and "c", empty, at
    another.
    """
    table = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
        "c": {"dtype": "F64", "shape": [0], "data_offsets": [9, 9]},
    }
    text = json.dumps(table).encode()
    path.write_bytes(
        file_of(text + b" " * (-len(text) % 8), b"x" + np.array([1, 2], "<f4").tobytes())
    )
    return path


def test_round_trip(path: Path):
    save(EVERY, path, {"k": "v"})
    with TensorFile(path) as file:
        assert file.keys() == EVERY.keys()
        assert file.metadata == {"k": "v"}
        assert len(file) == len(EVERY)
        for name, array in EVERY.items():
            assert equal(file[name], array)
            assert not file[name].flags.writeable
            assert file[name].flags.aligned
            with pytest.raises(ValueError):
                file[name].flags.writeable = True
        assert not file._copies
    with open_tensors(path) as file:
        assert isinstance(file, TensorFile)
        assert "scalar" in file
        assert "no" not in file
        assert repr(file).count("\n") == 0
        assert str(path) in repr(file)
        assert f"{len(EVERY)} tensors" in repr(file)


def test_misaligned_tensor_is_copied_once(path: Path):
    with TensorFile(misaligned(path)) as file:
        assert not file._copies
        assert file.cow("a").is_borrowed
        assert file.cow("c").is_borrowed
        cow = file.cow("b")
        assert not cow.is_borrowed
        assert cow is file.cow("b")
        assert list(file._copies) == ["b"]
        assert file["b"].tolist() == [1, 2]
        assert np.shares_memory(file["b"], file["b"])
        assert file["b"].flags.aligned
        assert not file["b"].flags.writeable
        assert "1 copied" in repr(file)
        cow.to_mut()[0] = 5
        assert file["b"].tolist() == [5, 2], "there is one copy"
    with TensorFile(path) as file:
        assert file["b"].tolist() == [1, 2]
        assert list(file._copies) == ["b"]


def test_views_outlive_the_file(path: Path):
    save({"a": np.arange(1000)}, path)
    file = TensorFile(path)
    view = file["a"]
    file.close()
    file.close()
    assert view.sum() == 499_500
    for take in (file.__getitem__, file.cow):
        with pytest.raises(ValueError, match="is closed: open it again"):
            take("a")
    assert list(file) == ["a"]
    assert file.entries["a"].shape == (1000,)
    del file
    assert not LINUX or mapped(path)
    del view
    assert not LINUX or not mapped(path)


def test_names_that_are_not_there(path: Path):
    save({"layers.0.weight": np.zeros(1), "layers.0.bias": np.zeros(1)}, path)
    with TensorFile(path) as file:
        with pytest.raises(
            KeyError, match=r"no tensor 'layers\.0\.wieght'; names like it: 'layers\.0\.weight'"
        ):
            file["layers.0.wieght"]
        with pytest.raises(KeyError, match=r"none; list\(file\)"):
            file["?"]
        assert file.get("?") is None
        assert file == file
        assert file != dict(file)
        assert {file}
        assert file.get("layers.0.bias").tolist() == [0]
        assert file.get("?", 3) == 3
        with pytest.raises(KeyError) as caught:
            file["layers.0.bias" * 10_000]
        assert len(str(caught.value)) < 500


def test_a_damaged_file_is_named_and_not_kept_mapped(path: Path):
    path.write_bytes(one(shape=[2]))
    with pytest.raises(SafetensorsError, match=r"model\.safetensors: tensor 'a'") as caught:
        TensorFile(path)
    assert caught.value.path == path
    assert pickle.loads(pickle.dumps(caught.value)).path == path
    assert not LINUX or not mapped(path), "not even while the exception is there"
    path.write_bytes(b"")
    with pytest.raises(SafetensorsError, match="0 bytes") as caught:
        TensorFile(path)
    assert caught.value.rule == "too short"
    with pytest.raises(FileNotFoundError):
        TensorFile(path.with_name("no"))


def test_dtypes_that_numpy_has_not(path: Path, monkeypatch: pytest.MonkeyPatch):
    header = {
        "bf": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]},
        "f8": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [4, 6]},
        "f4": {"dtype": "F4", "shape": [4], "data_offsets": [6, 8]},
    }
    path.write_bytes(file_of(header, b"\x80\x3f\x00\x40\x38\x40\x12\x34"))
    with TensorFile(path) as file:
        assert file["f4"].tolist() == [0x12, 0x34]
        assert file["f4"].dtype == np.uint8
        assert file.entries["f4"].dtype == "F4"
        if ours.dtype_of("BF16") is not None:  # ml_dtypes is installed
            assert file["bf"].dtype.name == "bfloat16"
            assert file["bf"].astype("f4").tolist() == [[1, 2]]
            assert file["f8"].dtype.name == "float8_e4m3fn"
            assert file["f8"].astype("f4").tolist() == [1, 2]
    ours.dtype_of.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with TensorFile(path) as file:
        assert file["bf"].tolist() == [0x80, 0x3F, 0, 0x40]
        assert file["bf"].dtype == np.uint8
        assert not file._copies
    ours.dtype_of.cache_clear()


# Writing


def test_arrays_of_any_layout_and_byte_order(path: Path):
    grid = np.arange(24, dtype="i4").reshape(2, 3, 4)
    arrays = {
        "transposed": grid.T,
        "sliced": grid[:, ::-1, ::2],
        "fortran": np.asfortranarray(grid),
        "big": grid.astype(">i4"),
        "big and sliced": grid.astype(">f8")[:, 1],
        "broadcast": np.broadcast_to(7, (2, 3)),
        "read-only": np.frombuffer(b"ab", "u1"),
        "big scalar": np.array(3, ">u2"),
    }
    save(arrays, path)
    with TensorFile(path) as file:
        for name, array in arrays.items():
            assert file[name].dtype == array.dtype.newbyteorder("<")
            assert np.array_equal(file[name], array)


@each_of(
    ("error", "arguments", "match"),
    (ValueError, ({"__metadata__": np.zeros(1)},), "__metadata__"),
    (ValueError, ({1: np.zeros(1)},), "1 can't name a tensor"),
    (ValueError, ({"\ud800": np.zeros(1)},), "surrogates"),
    (TypeError, ({"a": [1.0]},), "tensor 'a' is a list"),
    (TypeError, ({"a": np.array(["x"])},), "tensor 'a' is an array of <U1"),
    (TypeError, ({"a": np.zeros(1, "c16")},), "complex128"),
    (TypeError, ({"a": np.ma.masked_array([1.0, 2.0], [False, True])},), "a MaskedArray"),
    (TypeError, ({"a": np.array([None])},), "object"),
    (TypeError, ({}, {"k": 1}), "'k' to 1"),
    (TypeError, ({}, {1: "v"}), "1 to 'v'"),
    (ValueError, ({"a": np.zeros((0, 2**62), "u1")},), "4611686018427387904"),
)
def test_what_cannot_be_saved(path: Path, error: type, arguments: tuple, match: str):
    path.write_bytes(b"old")
    with pytest.raises(error, match=match):
        save(arguments[0], path, *arguments[1:])
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no file that is mapped")
def test_saving_over_a_mapped_file_leaves_its_readers_the_old_one(path: Path):
    save({"a": np.arange(5000), "b": np.ones(3)}, path)
    with TensorFile(path) as old:
        view = old["a"]
        save(dict(old) | {"a": view[::-1]}, path)
        assert view[0] == 0
        assert old["a"][1] == 1
        with TensorFile(path) as new:
            assert new["a"][0] == 4999
            assert new["b"].sum() == 3
        assert os.listdir(path.parent) == [path.name]
    (link := path.with_name("link")).symlink_to(path.name)
    save({}, link)
    with TensorFile(path) as file:
        assert link.is_symlink()
        assert len(file) == 0
        assert file.metadata == {}


# Shards


def sharded(folder: Path, weight_map: object = ..., **more: object) -> Path:
    save({"a": np.arange(3), "b": np.ones(2, "f4")}, folder / "1.safetensors")
    (folder / "sub").mkdir(exist_ok=True)
    misaligned(folder / "sub" / "2.safetensors").rename(folder / "sub" / "2.safetensors")
    if weight_map is ...:
        weight_map = {"a": "1.safetensors", "b": "sub/2.safetensors", "c": "sub/2.safetensors"}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 1.5}, "weight_map": weight_map} | more))
    return path


def test_shards_are_opened_when_they_are_asked_for(tmp_path: Path):
    with open_tensors(sharded(tmp_path)) as model:
        assert isinstance(model, ShardedFile)
        assert list(model) == ["a", "b", "c"]
        assert "a" in model
        assert "3 tensors in 2 files, 0 opened" in repr(model)
        view = model["a"]
        assert view.tolist() == [0, 1, 2]
        assert "1 opened" in repr(model)
        assert model["b"].tolist() == [1, 2]
        assert not model.cow("b").is_borrowed
        assert model.entries["a"].shape == (3,)
        assert model.entries["b"].dtype == "F32"
        with pytest.raises(KeyError, match="no tensor 'aa'; names like it: 'a'"):
            model["aa"]
    model.close()
    with pytest.raises(ValueError, match="is closed"):
        model["a"]
    assert view.sum() == 3
    assert "closed" in repr(model)


@each_of(
    ("rule", "weight_map", "saw"),
    ("index", None, "weight_map"),
    ("index", ["a"], "weight_map"),
    *(
        ("shard", {"a": shard}, None)
        for shard in ("/etc/passwd", "sub/../../x", "", "C:x", "..\\x", "x\0y", 3)
    ),
    ("missing", {"z": "1.safetensors"}, "1.safetensors has no such tensor"),
)
def test_index_that_leads_out_of_its_folder_is_refused(
    tmp_path: Path, rule: str, weight_map: object, saw: str | None
):
    with (
        pytest.raises(SafetensorsError) as caught,
        ShardedFile(sharded(tmp_path, weight_map)) as model,
    ):
        model.entries  # noqa: B018
    error = caught.value
    assert error.rule == rule
    assert INDEX_RULES[rule] in str(error)
    assert saw is None or saw in str(error)
    assert error.path.name == "model.safetensors.index.json"
    assert error.tensor == (None if rule == "index" else next(iter(weight_map)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("index", b"{"),
        ("index", b"\xff"),
        ("index", b"[]"),
        ("index", b"[" * 100_000),
        ("index", b'{"weight_map":{"a":"\\ud800.safetensors"}}'),
        ("duplicate key", b'{"weight_map":{"a":"1.safetensors","a":"1.safetensors"}}'),
    ],
)
def test_malformed_index_is_refused(tmp_path: Path, rule: str, text: bytes):
    (path := tmp_path / "x.index.json").write_bytes(text)
    with pytest.raises(SafetensorsError, match=r"x\.index\.json") as caught:
        open_tensors(path)
    assert caught.value.rule == rule


def test_an_index_of_any_size_is_not_read(tmp_path: Path):
    path = tmp_path / "x.index.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(
        SafetensorsError, match="has 1,099,511,627,776 bytes, and 100,000,000 is the limit"
    ):
        ShardedFile(path)


# The reference implementation

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(
    lambda name: name != "__metadata__"
)
shapes = st.lists(st.integers(0, 4), max_size=4)
arrays = st.builds(
    lambda kind, shape, seed: np.random.default_rng(seed).integers(0, 2, shape).astype(kind),
    st.sampled_from([kind for kind in ours.DTYPES.values() if hasattr(np, kind)]),
    shapes,
    st.integers(0, 9),
)
some = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@some
@given(
    st.dictionaries(names, arrays, max_size=6),
    st.none() | st.dictionaries(names, names, max_size=1),
)
def test_written_as_the_reference_writes_and_read_as_it_reads(
    path: Path, tensors: dict, metadata: dict | None
):
    reference = pytest.importorskip("safetensors.numpy")
    save(tensors, path, metadata)
    # from no tensors and {}, the reference 0.8.0 writes a file that no reader takes
    if tensors or metadata:
        assert path.read_bytes() == reference.save(tensors, metadata)
    found = reference.load_file(path)
    assert found.keys() == tensors.keys()
    assert all(equal(found[name], array) for name, array in tensors.items())
    reference.save_file(tensors, path, metadata or None)
    with TensorFile(path) as file:
        assert file.keys() == tensors.keys()
        assert file.metadata == (metadata or {})
        assert not file._copies
        assert all(equal(file[name], array) for name, array in tensors.items())


def test_hand_made_files_are_taken_as_the_reference_takes_them_and_differences_are_the_intended():
    fuzz = fuzzing()
    for data in (*(data for _, data, _ in BROKEN), *LEGAL.values()):
        fuzz.compare(data)
    for rule, (reason, files) in fuzz.DIFFERENCES.items():
        assert reason
        assert all(fuzz.compare(data) == rule for data in files)
    assert fuzz.compare(LEGAL["a minus before 0"]) == "-0"


@pytest.mark.slow
def test_accepts_and_refuses_as_the_reference_does():
    """A short run of `make fuzz`."""
    fuzzing().main(seconds=2)


def fuzzing():
    pytest.importorskip("safetensors")
    import fuzz_safetensors

    return fuzz_safetensors
