"""helpers.make: tensors, damaged files, records, DNA: the right bytes, always the same, and nobody's file is lost."""

import errno
import hashlib
import json
import os
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import lasting
from helpers.folders import generated
from helpers.ideas.safetensors import NAMES
from helpers.ideas.tensor_header import BITS, RULES, SafetensorsError, read_header
from helpers.make import DAMAGES, damaged, dna, pieces, record, records, sharded_model, tensor_file, tensors
from helpers.make.records import KINDS, RECORD
from helpers.measure import measure
from helpers.units import KiB, MiB

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory, monkeypatch):
    """No test writes into the repository."""
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path_factory.mktemp("generated")))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def identity(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


def free(monkeypatch, size: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size))


# What holds for all of them

MAKERS = {
    "tensors": lambda path, seed=0: tensor_file(path, size="3 MiB", layers=2, seed=seed),
    "misaligned": lambda path, seed=0: tensor_file(path, size="3 MiB", layers=2, seed=seed, misaligned=True),
    **{kind: lambda path, seed=0, kind=kind: records(path, 1500, kind, seed, escaped=0.2) for kind in KINDS},
    "dna": lambda path, seed=0: dna(path, "2500 KiB", seed),
}
every_maker = pytest.mark.parametrize("maker", MAKERS)


@every_maker
def test_bytes_never_change(tmp_path, maker):
    """Golden digests: the same on any system, numpy and Python."""
    golden = {
        "tensors": "b53ceea9af1553e6",
        "misaligned": "423d3c99d57e2fd5",
        "json": "7311d3cecc9f665b",
        "msgpack": "06b7e465f76d10c2",
        "binary": "ec713ffc3a8f91f1",
        "dna": "2be978ba0a552bb7",
    }
    assert digest(MAKERS[maker](tmp_path / "a")) == golden[maker]


@every_maker
def test_a_bare_name_lies_in_the_generated_folder(monkeypatch, tmp_path, maker):
    monkeypatch.chdir(tmp_path)
    assert MAKERS[maker]("a") == generated() / "a" and MAKERS[maker]("./a") == Path("a")
    assert names(generated()) == names(tmp_path) == ["a"]


@every_maker
def test_the_same_file_is_reused_and_another_replaced(maker):
    path = MAKERS[maker]("a")
    before, good = identity(path), digest(path)
    assert identity(MAKERS[maker]("a")) == before
    MAKERS[maker]("a", seed=1)
    assert digest(path) != good
    MAKERS[maker]("a")
    assert digest(path) == good and names(generated()) == ["a"]


@every_maker
@pytest.mark.parametrize("cut", [0, 1, MiB, -1])
def test_what_was_cut_short_or_damaged_is_made_again_anywhere(tmp_path, maker, cut):
    path = MAKERS[maker](tmp_path / "a")
    whole = path.read_bytes()
    for spoilt in (whole[:cut], whole + b"x", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]):
        path.write_bytes(spoilt)
        assert MAKERS[maker](path).read_bytes() == whole


@every_maker
def test_what_another_made_stays_outside_the_generated_folder(tmp_path, maker):
    """Another seed's tensors have the same header: they could be somebody's trained weights."""
    path = MAKERS[maker](tmp_path / "a", seed=1)
    for content in (path.read_bytes(), b"four years of my life", path.read_bytes()[:-9]):
        path.write_bytes(content)
        with pytest.raises(FileExistsError, match=r"\(seed=0\) didn't make.*choose another name") as caught:
            MAKERS[maker](path)
        assert path.read_bytes() == content and names(tmp_path) == ["a"]
        assert caught.value.filename == str(path)


@pytest.mark.parametrize("make", [lambda path: dna(path, 1), lambda path: dna(path, 0), lambda path: records(path, 0)])
def test_a_file_of_few_bytes_claims_nobody_s(tmp_path, make):
    made = make(tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(made + b"ATTACA, my thesis")
    with pytest.raises(FileExistsError):
        make(tmp_path / "a")


@every_maker
def test_too_little_room_is_found_out_before_anything_is_written(tmp_path, monkeypatch, maker):
    size = MAKERS[maker](tmp_path / "a").stat().st_size
    (tmp_path / "a").unlink()
    free(monkeypatch, size - 1)
    with pytest.raises(OSError, match="are free; make room in") as caught:
        MAKERS[maker](tmp_path / "a")
    assert caught.value.errno == errno.ENOSPC and names(tmp_path) == []


@every_maker
def test_wrong_seeds_and_folders(tmp_path, maker):
    for seed in (-1, 2**32):
        with pytest.raises(ValueError, match=f"4294967295, not {seed}"):
            MAKERS[maker](tmp_path / "a", seed)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        MAKERS[maker](tmp_path / "nowhere" / "a")
    with pytest.raises(IsADirectoryError):
        MAKERS[maker](tmp_path)
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_is_followed_and_gives_no_stranger_s_file_away(tmp_path):
    (generated() / "a").symlink_to(tmp_path / "b")
    assert dna("a", 100) == generated() / "a" and (generated() / "a").is_symlink()
    assert (tmp_path / "b").stat().st_size == 100
    (tmp_path / "b").write_text("four years")
    with pytest.raises(FileExistsError):
        dna("a", 100)


def test_an_error_on_the_way_leaves_the_old_file_and_nothing_else(monkeypatch):
    path = tensor_file("a", size="3 MiB")
    before, made = digest(path), pieces.random_bytes

    def refused(size, seed, name, i):
        return made(size, seed, name, i) if (seed, i) != (1, 1) else 1 / 0

    monkeypatch.setattr(tensors, "random_bytes", refused)
    with pytest.raises(ZeroDivisionError):
        tensor_file("a", size="24 MiB", seed=1)
    assert digest(path) == before and names(generated()) == ["a"]


def test_memory_does_not_grow_with_the_file():
    """In a process of its own, because tracemalloc counts every thread, no matter what started it."""

    def peaks():
        import tracemalloc

        from helpers.make import dna, records, sharded_model

        dna("warm-up", 2**20)
        found = {}
        for make, *args in ((sharded_model, "a", "64 MiB"), (dna, "b", "32 MiB"), (records, "c", 40_000, "binary")):
            for task in ("write", "check"):
                tracemalloc.start()
                make(*args)
                found[f"{task} by {make.__name__}"] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
        return found

    for task, peak in measure(peaks).value.items():
        assert peak < 8 * MiB, f"to {task} took {peak / MiB:.1f} MiB"


@pytest.mark.measured
def test_a_bar_for_a_long_wait_only(monkeypatch, capfd):
    assert lasting.PATIENCE == 2
    sharded_model("m", "12 MiB", shards=2, layers=2)
    assert capfd.readouterr() == ("", "")
    made = pieces.random_bytes
    monkeypatch.setattr(tensors, "random_bytes", lambda *args: (time.sleep(0.05), made(*args))[1])
    monkeypatch.setattr(lasting, "PATIENCE", 0.1)
    for doing in ("checking", "writing"):
        sharded_model("m" if doing == "checking" else "n", "12 MiB", shards=2, layers=2)
        shown = [line for line in capfd.readouterr().err.split("\r") if line.strip()]
        assert len(shown) > 1 and all(line.startswith(f"{doing} model-0000") for line in shown), shown
        assert all("/12.0M" in line for line in shown), shown


# Tensors

ALL = {f"of {dtype}": (dtype, (3, 8)) for dtype in BITS} | {
    "scalar": ("F64", ()),
    "empty": ("F32", (5, 0, 2)),
    "ä": ("U8", (7,)),
}


def read(path: Path) -> dict[str, np.ndarray]:
    return pytest.importorskip("safetensors.numpy").load_file(path)


def test_a_model_fills_its_size_and_is_what_the_reference_writer_would_write(tmp_path):
    for size, layers in ((3 * MiB, 11), (100 * KiB, 1), (8, 1)):
        path = tensor_file(tmp_path / f"{size}", size=size, layers=layers)
        found = read(path)
        assert found.keys() == {f"layers.{i}.{part}" for i in range(layers) for part in ("weight", "bias")}
        n = len(found["layers.0.bias"])
        assert {array.shape for array in found.values()} == {(n, n), (n,)}
        assert layers * (n * n + n) * 4 <= size < layers * ((n + 1) ** 2 + n + 1) * 4
        assert path.read_bytes() == pytest.importorskip("safetensors.numpy").save(found)


def test_the_order_and_padding_of_other_dtypes_are_the_reference_writer_s_too(tmp_path):
    words = {name: (np.dtype(name), (3,)) for name in NAMES if hasattr(np, name)}
    path = tensor_file(tmp_path / "a", words | {"ä": ("U8", (1,))})
    assert path.read_bytes() == pytest.importorskip("safetensors.numpy").save(read(path))


def test_values_are_small_spread_and_no_nan(tmp_path):
    path = tensor_file(tmp_path / "a", {word: (word, (4, 1000)) for word in ("F64", "F32", "F16", "BOOL", "I8", "U64")})
    for word, values in read(path).items():
        if word.startswith("F"):
            assert (
                np.abs(values).max() <= (0.0501 if word == "F16" else 0.05)
                and abs(values.mean()) < 0.005 < values.std() < 0.05
            )
            assert len(np.unique(values)) > 1000
        else:
            expected = {"BOOL": (0, 1), "I8": (-128, 127)}.get(word)
            assert expected is None or (values.min(), values.max()) == expected
            assert len(np.unique(values)) == {"BOOL": 2, "I8": 256, "U64": 4000}[word]


def test_narrow_floats_are_numbers(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kinds = {
        "BF16": ml_dtypes.bfloat16, "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E4M3": ml_dtypes.float8_e4m3fn,
        "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
        "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    }  # fmt: skip
    path = tensor_file(tmp_path / "a", {word: (word, (1000,)) for word in kinds})
    data = path.read_bytes()
    for entry in read_header(data).entries.values():
        values = np.frombuffer(data[entry.begin : entry.end], kinds[entry.dtype]).astype(np.float32)
        assert np.isfinite(values).all() and np.abs(values).max() <= (0.0501 if entry.dtype == "BF16" else 2)


@pytest.mark.parametrize("misaligned", [False, True])
def test_every_dtype_is_legal_and_lies_where_it_should_or_does_not(tmp_path, misaligned):
    path = tensor_file(tmp_path / "a", ALL, misaligned=misaligned)
    pytest.importorskip("safetensors").deserialize(path.read_bytes())
    header = read_header(path.read_bytes())
    assert {name: (entry.dtype, entry.shape) for name, entry in header.entries.items()} == ALL
    assert header.size % 8 == misaligned
    for entry in header.entries.values():
        if BITS[entry.dtype] >= 16:
            assert (entry.begin % (BITS[entry.dtype] // 8) == 0) is not misaligned


def test_a_misaligned_file_has_the_same_values(tmp_path):
    good, bad = (read(tensor_file(tmp_path / f"{m}", size="1 MiB", misaligned=m)) for m in (False, True))
    assert all(np.array_equal(good[name], bad[name]) for name in good | bad)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"tensors": {"a": ("F33", (1,))}}, "'F33' isn't a dtype.*BF16"),
        ({"tensors": {"a": (str, (1,))}}, "isn't a dtype"),
        ({"tensors": {"a": ("F4", (3,))}}, "whole number of bytes"),
        ({"tensors": {"a": ("U8", (-1, -1))}}, "no negative lengths"),
        ({"tensors": {"__metadata__": ("U8", (1,))}}, "'__metadata__'"),
        ({"size": 63, "layers": 8}, "63 bytes .* 8 layers of at least 8 bytes"),
        ({"layers": 0}, "0 layers"),
        ({"size": "16 MB"}, "MiB"),
    ],
)
def test_tensors_that_cannot_be(tmp_path, wanted, says):
    with pytest.raises(ValueError, match=says):
        tensor_file(tmp_path / "a", **wanted)
    assert names(tmp_path) == []


# Shards


def test_shards_hold_the_model_and_the_index_says_where(tmp_path):
    path = sharded_model(tmp_path / "m", "4 MiB", shards=3, layers=11, seed=3)
    files = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    assert path == tmp_path / "m" / "model.safetensors.index.json" and names(path.parent) == [*files, path.name]
    index = json.loads(path.read_text())
    parts = {name: read(path.parent / name) for name in files}
    assert index["weight_map"] == {tensor: name for name, part in parts.items() for tensor in part}
    assert index["metadata"] == {"total_size": sum(array.nbytes for part in parts.values() for array in part.values())}
    one = read(tensor_file(tmp_path / "one", size="4 MiB", layers=11, seed=3))
    together = {name: array for part in parts.values() for name, array in part.items()}
    assert together.keys() == one.keys() and all(np.array_equal(together[name], one[name]) for name in one)
    layers = [{int(tensor.split(".")[1]) for tensor in part} for part in parts.values()]
    assert [sorted(each) for each in layers] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_a_right_shard_is_left_and_a_damaged_one_is_made_again():
    folder = sharded_model("m", "4 MiB").parent
    before = {path: identity(path) for path in folder.iterdir()}
    spoilt = folder / "model-00002-of-00004.safetensors"
    good = spoilt.read_bytes()
    spoilt.write_bytes(good[:-1])
    sharded_model("m", "4 MiB")
    assert spoilt.read_bytes() == good
    assert {path for path in before if identity(path) != before[path]} == {spoilt, folder / tensors.INDEX}


def test_no_index_leads_to_shards_of_two_seeds(monkeypatch):
    index, replace = sharded_model("m", "1 MiB", shards=3), os.replace
    before = {path.name: digest(path) for path in index.parent.iterdir()}

    def killed(old: str, new: str) -> None:
        if "00002-of" in str(new):
            raise KeyboardInterrupt
        replace(old, new)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        sharded_model("m", "1 MiB", shards=3, seed=1)
    left = {path.name for path in index.parent.iterdir() if digest(path) == before[path.name]}
    assert left == {"model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}
    assert len(names(index.parent)) == 3, "shards of two seeds, and no index that says they belong together"
    monkeypatch.setattr(os, "replace", replace)
    assert sharded_model("m", "1 MiB", shards=3) == index
    assert {path.name: digest(path) for path in index.parent.iterdir()} == before


def test_shards_of_another_count_go_where_all_is_generated(tmp_path):
    sharded_model("m", "1 MiB", shards=4)
    index = sharded_model("m", "1 MiB", shards=2)
    assert names(index.parent) == [*(f"model-0000{i}-of-00002.safetensors" for i in (1, 2)), index.name]
    sharded_model(tmp_path / "m", "1 MiB", shards=4)
    with pytest.raises(FileExistsError):  # the index belongs to the other model
        sharded_model(tmp_path / "m", "1 MiB", shards=2)
    assert len(names(tmp_path / "m")) == 5


def test_a_stranger_s_shard_of_another_count_stays(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model-00001-of-00009.safetensors").write_text("my trained weights")
    sharded_model(tmp_path / "m", "1 MiB")
    assert (tmp_path / "m" / "model-00001-of-00009.safetensors").read_text() == "my trained weights"


def test_room_for_all_shards_or_none(tmp_path, monkeypatch):
    free(monkeypatch, 3 * MiB)
    with pytest.raises(
        OSError, match=r"sharded_model\(seed=0\) needs 3.99 MiB .*\(3,145,728 bytes\) are free"
    ) as caught:
        sharded_model(tmp_path / "m", "4 MiB")
    assert caught.value.errno == errno.ENOSPC and names(tmp_path) == []


def test_a_stranger_s_shard_stops_it_before_anything_is_written(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model-00003-of-00004.safetensors").write_text("my trained weights")
    with pytest.raises(FileExistsError):
        sharded_model(tmp_path / "m", "1 MiB")
    assert names(tmp_path / "m") == ["model-00003-of-00004.safetensors"]


def test_the_index_comes_last(monkeypatch):
    renamed, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (renamed.append(Path(new).name), replace(old, new)))
    index = sharded_model("m", "1 MiB", shards=2)
    assert renamed == names(index.parent)


@pytest.mark.parametrize("shards", [0, 9])
def test_shards_that_cannot_be(tmp_path, shards):
    with pytest.raises(ValueError, match=f"1 to 8 shards, not {shards}"):
        sharded_model(tmp_path / "m", shards=shards, layers=8)
    assert names(tmp_path) == []


# Damaged files

# What the format's description forbids, but its implementation accepts.
LET_PASS = {"leading space", "duplicate key", "metadata is null", "a field too many"}
BROKEN_RULE = {
    **{kind: kind for kind in DAMAGES if kind in RULES},
    "empty file": "too short", "half a character": "not UTF-8", "leading space": "not an object",
    "metadata of numbers": "metadata", "metadata is null": "metadata",
    "a field missing": "fields", "a field too many": "fields", "unknown dtype": "dtype",
    "shape is no list": "shape", "negative length": "shape", "float in a shape": "shape",
    "NaN offset": "offsets", "float offset": "offsets", "boolean offset": "offsets", "negative offset": "offsets",
    "one offset": "offsets",
    "hole": "hole or overlap", "hole at the start": "hole or overlap", "overlap": "hole or overlap",
    "cut short": "file length", "trailing bytes": "file length",
}  # fmt: skip


def test_there_is_a_damage_for_every_rule():
    assert set(BROKEN_RULE.values()) == set(RULES)
    # For these two, which rule is named depends on how deep, and how far, a Python reads.
    assert set(BROKEN_RULE) | {"too deep", "huge number"} == set(DAMAGES) and "none" not in DAMAGES


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_refused_for_what_it_is(kind):
    safetensors = pytest.importorskip("safetensors")
    data = damaged(kind)
    assert type(data) is bytes and len(data) < 6 * KiB and data == damaged(kind)
    with pytest.raises(SafetensorsError) as caught:
        read_header(data)
    assert caught.value.rule == BROKEN_RULE.get(kind, caught.value.rule)
    if kind in LET_PASS:
        safetensors.deserialize(data)
    else:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.deserialize(data)


def test_nothing_else_is_wrong_with_it():
    """Mended, each is the well-formed file again, so a reader that accepts it lacks just that one rule."""
    good = damaged("none")
    ((name, tensor),) = pytest.importorskip("safetensors").deserialize(good)
    assert (name, tensor["dtype"], tensor["shape"]) == ("weight", "F32", [2])
    assert np.frombuffer(tensor["data"], "<f4").tolist() == [1, 2]
    assert good.startswith(damaged("too short")) and good[:-1] == damaged("cut short")
    assert good + b"\0" == damaged("trailing bytes") and good[8:] == damaged("header too long")[8:]
    assert good[8:] == damaged("header beyond file")[8:]
    mend = {
        "not UTF-8": (b"\xff", b"g"), "unknown dtype": (b"F33", b"F32"),
        "shape is no list": (b":2,", b":[2],"),
        "negative length": (b"[-1,-2]", b"[2]"), "float in a shape": (b"2.0", b"2"), "huge number": (b"9" * 5000, b"2"),
        "NaN offset": (b"NaN", b"8"), "float offset": (b"8.0", b"8"), "boolean offset": (b"false", b"0"),
        "negative offset": (b"[-8,0]", b"[0,8]"), "one offset": (b"[0]", b"[0,8]"), "wrong size": (b"[3]", b"[2]"),
        "metadata of numbers": (b'"__metadata__":{"epochs":3},', b""),
        "metadata is null": (b'"__metadata__":null,', b""),
        "a field too many": (b',"order":"F"', b""), "a field missing": (b'"F32",', b'"F32","shape":[2],'),
        "leading space": (b" {", b"{"), "half a character": (rb"w\ud800", b"weight"), "not JSON": (b"]}", b"]}}"),
    }  # fmt: skip

    def bare(data: bytes) -> tuple[bytes, bytes]:
        end = 8 + int.from_bytes(data[:8], "little")
        return data[8:end].rstrip(), data[end:]

    for kind, (wrong, right) in mend.items():
        header, data = bare(damaged(kind))
        assert (header.replace(wrong, right), data) == bare(good), kind


def test_an_unknown_damage():
    with pytest.raises(KeyError, match=r"no damage 'rust'.*overlap"):
        damaged("rust")


# Records


def parsed(path: Path, kind: str) -> list[tuple]:
    msgspec = pytest.importorskip("msgspec")
    fields = [("id", int), ("name", str), ("lat", float), ("lon", float), ("payload", bytes)]
    struct = msgspec.defstruct("Record", fields, forbid_unknown_fields=True)
    decode = {"json": msgspec.json, "msgpack": msgspec.msgpack}[kind].decode
    return [msgspec.structs.astuple(each) for each in decode(path.read_bytes(), type=list[struct])]


@pytest.mark.parametrize(("count", "payload", "escaped"), [(0, 0, 0), (1, "1 KiB", 1), (1024, 3, 0.5), (2500, 0, 0.1)])
def test_the_same_records_in_each_kind(tmp_path, count, payload, escaped):
    paths = {
        kind: records(tmp_path / f"{kind}", count, kind, seed=5, escaped=escaped, payload=payload) for kind in KINDS
    }
    binary = np.frombuffer(paths["binary"].read_bytes(), record(payload))
    expected = [
        (int(r["id"]), r["name"].decode(), float(r["lat"]), float(r["lon"]), r["payload"].tobytes()) for r in binary
    ]
    assert len(expected) == count and parsed(paths["json"], "json") == parsed(paths["msgpack"], "msgpack") == expected
    assert [r[0] for r in expected] == list(range(count))
    assert all(4 <= len(r[1]) <= 24 and abs(r[2]) <= 90 and abs(r[3]) <= 180 for r in expected)
    assert [dict(zip(RECORD.names, r, strict=True))["name"] for r in expected] == [
        each["name"] for each in json.loads(paths["json"].read_bytes())
    ]


def test_json_is_what_a_fast_writer_writes(tmp_path):
    msgspec = pytest.importorskip("msgspec")
    path = records(tmp_path / "a", 1500, escaped=0.3)
    assert msgspec.json.encode(msgspec.json.decode(path.read_bytes())) == path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_records_depend_on_their_number_and_the_seed_only(tmp_path, kind):
    few, many = (records(tmp_path / f"{n}", n, kind).read_bytes() for n in (1500, 3000))
    skip = {"json": 0, "msgpack": 5, "binary": 0}[kind]  # msgpack begins with the count
    assert many[skip:].startswith(few[skip:].removesuffix(b"]"))
    assert records(tmp_path / "seed", 1500, kind, seed=1).read_bytes() != few


@pytest.mark.parametrize("escaped", [0.0, 0.25, 1.0])
def test_the_part_that_must_be_escaped(tmp_path, escaped):
    plain, other = (records(tmp_path / f"{e}", 8000, "binary", escaped=e, payload=0) for e in (-0.0, escaped or 1e-9))
    before, after = (np.fromfile(path, record(0)) for path in (plain, other))
    odd = [bool(re.search(rb'["\\\n]', name)) for name in after["name"].tolist()]
    assert abs(np.mean(odd) - escaped) < 0.03 and (escaped in odd or 0 < escaped < 1)
    back = [re.sub(rb'["\\\n]', b" ", name) for name in after["name"].tolist()]
    assert back == before["name"].tolist()
    assert all(np.array_equal(before[field], after[field]) for field in ("id", "lat", "lon"))
    if escaped:
        assert {char for name in after["name"].tolist() for char in name} >= set(b'"\\\n')


def test_coordinates_are_said_exactly_by_six_decimals(tmp_path):
    made = np.fromfile(records(tmp_path / "a", 2000, "binary"), RECORD)
    assert RECORD.itemsize == 1072
    for field, most in (("lat", 90), ("lon", 180)):
        assert all(float(f"{value:.6f}") == value for value in made[field].tolist())
        assert made[field].min() < -0.9 * most and made[field].max() > 0.9 * most


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"kind": "xml"}, "json, msgpack, binary.*'xml'"),
        ({"escaped": 1.1}, "escaped 0 to 1.*1.1"),
        ({"count": -1}, "not 'json', 0.0, -1"),
        ({"payload": "65 KiB"}, "0 to 65536 bytes.*66560"),
    ],
)
def test_records_that_cannot_be(tmp_path, wanted, says):
    with pytest.raises(ValueError, match=says):
        records(tmp_path / "a", **{"count": 1} | wanted)
    assert names(tmp_path) == []


# DNA


def test_dna_has_four_letters_in_equal_parts(tmp_path):
    text = dna(tmp_path / "a", "1500 KiB").read_bytes()
    assert len(text) == 1500 * KiB and set(text) == set(b"ACGT")
    assert all(abs(text.count(letter) / len(text) - 0.25) < 0.005 for letter in (b"A", b"C", b"G", b"T"))
    assert len({text[i : i + 16] for i in range(0, 64 * KiB, 16)}) == 4 * KiB


@pytest.mark.parametrize("size", [0, 1, 3, MiB - 1, MiB, MiB + 1])
def test_a_shorter_dna_is_the_start_of_a_longer_one(tmp_path, size):
    longer = dna(tmp_path / "longer", 2 * MiB).read_bytes()
    assert dna(tmp_path / "a", size).read_bytes() == longer[:size]
