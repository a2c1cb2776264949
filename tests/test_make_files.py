"""helpers.make: tensors, damaged files, records, DNA: the right bytes, always the same, and
nobody's file is lost.
"""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tables import each_of
from test_make import identity, names

from helpers.folders import file_size, generated
from helpers.ideas.tensor_header import BITS, RULES, SafetensorsError, read_header
from helpers.make import DAMAGES, damaged, dna, record, records, sharded_model, tensor_file
from helpers.make.records import KINDS
from helpers.make.tensors import DTYPES
from helpers.measure import measure
from helpers.units import KiB, MiB

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_folder")]


# What holds for all of them

MAKERS = {
    "tensors": lambda path, seed=0: tensor_file(path, size="3 MiB", layers=2, seed=seed),
    "misaligned": lambda path, seed=0: tensor_file(
        path, size="3 MiB", layers=2, seed=seed, misaligned=True
    ),
    **{
        kind: lambda path, seed=0, kind=kind: records(path, 1500, kind, seed, escaped=0.2)
        for kind in KINDS
    },
    "dna": lambda path, seed=0: dna(path, "2500 KiB", seed),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_bytes_never_change_and_a_bare_name_lies_in_the_generated_folder(maker):
    """Golden digests: the same on any system, numpy and Python."""
    golden = {
        "tensors": "b53ceea9af1553e6",
        "misaligned": "423d3c99d57e2fd5",
        "json": "7311d3cecc9f665b",
        "binary": "ec713ffc3a8f91f1",
        "dna": "2be978ba0a552bb7",
    }
    path = MAKERS[maker]("a")
    before = identity(path)
    assert path == generated() / "a"
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] == golden[maker]
    assert identity(MAKERS[maker]("a")) == before, "the same file is left as it is"


def test_a_file_that_could_be_somebody_s_is_not_replaced(tmp_path):
    """Another seed's tensors have the same header: they could be trained weights."""
    make = MAKERS["tensors"]
    ours = make(tmp_path / "a").read_bytes()
    for spoilt in (
        ours[:0],
        ours[:1],
        ours[:-1],
        ours + b"x",
        ours[:-9] + bytes([ours[-9] ^ 1]) + ours[-8:],
    ):
        (tmp_path / "a").write_bytes(spoilt)
        assert make(tmp_path / "a").read_bytes() == ours
    other = make(tmp_path / "other", seed=1).read_bytes()
    for content in (other, b"four years of my life", other[:-9]):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(
            FileExistsError, match=r"\(seed=0\) didn't make.*choose another name"
        ) as caught:
            make(tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == content
        assert caught.value.filename == str(tmp_path / "a")
    make("a", seed=1)
    assert make("a").read_bytes() == ours, "in the generated folder, it is"


@pytest.mark.parametrize(
    "make", [lambda path: dna(path, 1), lambda path: dna(path, 0), lambda path: records(path, 0)]
)
def test_a_file_of_few_bytes_claims_nobody_s(tmp_path, make):
    (tmp_path / "a").write_bytes(make(tmp_path / "a").read_bytes() + b"ATTACA, my thesis")
    with pytest.raises(FileExistsError):
        make(tmp_path / "a")


def test_memory_does_not_grow_with_the_file():
    """In a process of its own, because tracemalloc counts every thread, no matter what
    started it.
    """

    def peaks():
        import tracemalloc

        from helpers.make import dna, random_file, records, sharded_model

        dna("warm-up", 2**20)
        found = {}
        made = [
            (dna, "b", "32 MiB"),
            (records, "c", 40_000, "binary"),
            (random_file, "d", "64 MiB"),
        ]
        for make, *args in [(sharded_model, "a", "64 MiB"), *made]:
            for doing in ("writing", "checking"):
                tracemalloc.start()
                make(*args)
                found[f"{make.__name__}, {doing},"] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
        return found

    for maker, peak in measure(peaks).value.items():
        assert peak < 8 * MiB, f"{maker} took {peak / MiB:.1f} MiB"


@each_of(
    ("make", "wanted", "says"),
    (tensor_file, {"tensors": {"a": ("F33", (1,))}}, "'F33' isn't a dtype.*F16"),
    (tensor_file, {"size": 63, "layers": 8}, "63 bytes .* 8 layers of at least 8 bytes"),
    (tensor_file, {"layers": 0}, "0 layers"),
    (tensor_file, {"size": "16 MB"}, "MiB"),
    (sharded_model, {"layers": 8, "shards": 0}, "1 to 8 shards, not 0"),
    (sharded_model, {"layers": 8, "shards": 9}, "1 to 8 shards, not 9"),
    (records, {"count": 1, "kind": "xml"}, "json, binary.*'xml'"),
    (records, {"count": 1, "escaped": 1.1}, "escaped 0 to 1.*1.1"),
    (records, {"count": -1}, "not 'json', 0.0, -1"),
    (records, {"count": 1, "payload": "65 KiB"}, "0 to 65536 bytes.*66560"),
)
def test_what_cannot_be_made_is_refused(tmp_path, make, wanted, says):
    with pytest.raises(ValueError, match=says):
        make(tmp_path / "a", **wanted)
    assert names(tmp_path) == []


def test_a_class_has_smaller_files_and_is_told_so(monkeypatch, capsys):
    monkeypatch.delenv("ZERO_COPY_SIZE", raising=False)
    assert file_size("256 MiB") == 256 * MiB
    assert not capsys.readouterr().out
    monkeypatch.setenv("ZERO_COPY_SIZE", "64 MiB")
    assert file_size("256 MiB") == 64 * MiB
    assert "64 MiB here" in capsys.readouterr().out
    assert file_size("64 MiB") == 64 * MiB
    assert file_size(9) == 9
    assert not capsys.readouterr().out
    for wrong, says in (("1 MiB", "64 MiB or more"), ("64 MB", "'64 MB' isn't a size")):
        monkeypatch.setenv("ZERO_COPY_SIZE", wrong)
        with pytest.raises(ValueError, match=says):
            file_size("256 MiB")


# Tensors

ALL = {f"of {dtype}": (dtype, (3, 8)) for dtype in DTYPES} | {
    "scalar": ("F32", ()),
    "empty": ("F32", (5, 0, 2)),
    "ä": ("U8", (7,)),
}


def read(path: Path) -> dict[str, np.ndarray]:
    return pytest.importorskip("safetensors.numpy").load_file(path)


def test_a_model_fills_its_size_and_is_what_the_reference_writer_would_write(tmp_path):
    for size, layers in ((3 * MiB, 11), (100 * KiB, 1), (8, 1)):
        path = tensor_file(tmp_path / f"{size}", size=size, layers=layers)
        found = read(path)
        assert found.keys() == {
            f"layers.{i}.{part}" for i in range(layers) for part in ("weight", "bias")
        }
        n = len(found["layers.0.bias"])
        assert {array.shape for array in found.values()} == {(n, n), (n,)}
        assert layers * (n * n + n) * 4 <= size < layers * ((n + 1) ** 2 + n + 1) * 4
        assert path.read_bytes() == pytest.importorskip("safetensors.numpy").save(found)


def test_values_are_small_spread_and_no_nan(tmp_path):
    path = tensor_file(
        tmp_path / "a", {word: (word, (4, 1000)) for word in ("F32", "F16", "I8", "U64")}
    )
    for word, values in read(path).items():
        assert len(np.unique(values)) > (1000 if word != "I8" else 255)
        if word.startswith("F"):
            assert np.abs(values).max() <= 0.0501
            assert abs(values.mean()) < 0.005 < values.std() < 0.05


@pytest.mark.parametrize("misaligned", [False, True])
def test_every_dtype_is_legal_and_lies_where_it_should_or_does_not(tmp_path, misaligned):
    path = tensor_file(tmp_path / "a", ALL, misaligned=misaligned)
    pytest.importorskip("safetensors").deserialize(path.read_bytes())
    header = read_header(path.read_bytes())
    assert {name: (entry.dtype, entry.shape) for name, entry in header.entries.items()} == ALL
    assert header.size % 8 == misaligned
    assert misaligned or path.read_bytes() == pytest.importorskip("safetensors.numpy").save(
        read(path)
    )
    for entry in header.entries.values():
        if BITS[entry.dtype] >= 16:
            assert (entry.begin % (BITS[entry.dtype] // 8) == 0) is not misaligned
    good, odd = (
        read(tensor_file(tmp_path / f"{m}", size="1 MiB", misaligned=m))
        for m in (False, misaligned)
    )
    assert all(np.array_equal(good[name], odd[name]) for name in good | odd)


# Shards


def test_shards_hold_the_model_and_the_index_says_where(tmp_path):
    path = sharded_model(tmp_path / "m", "4 MiB", shards=3, layers=11, seed=3)
    files = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    assert path == tmp_path / "m" / "model.safetensors.index.json"
    assert names(path.parent) == [
        *files,
        path.name,
    ]
    index = json.loads(path.read_text())
    parts = {name: read(path.parent / name) for name in files}
    assert index["weight_map"] == {tensor: name for name, part in parts.items() for tensor in part}
    assert index["metadata"] == {
        "total_size": sum(array.nbytes for part in parts.values() for array in part.values())
    }
    one = read(tensor_file(tmp_path / "one", size="4 MiB", layers=11, seed=3))
    together = {name: array for part in parts.values() for name, array in part.items()}
    assert together.keys() == one.keys()
    assert all(np.array_equal(together[name], one[name]) for name in one)
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
    assert {path for path in before if identity(path) != before[path]} == {spoilt}


def test_shards_of_another_count_go_where_all_is_generated(tmp_path):
    sharded_model("m", "1 MiB", shards=4)
    index = sharded_model("m", "1 MiB", shards=2)
    assert names(index.parent) == [
        *(f"model-0000{i}-of-00002.safetensors" for i in (1, 2)),
        index.name,
    ]
    sharded_model(tmp_path / "m", "1 MiB", shards=4)
    with pytest.raises(FileExistsError):  # the index belongs to the other model
        sharded_model(tmp_path / "m", "1 MiB", shards=2)


def test_a_stranger_s_shard_stays(tmp_path):
    (tmp_path / "m").mkdir()
    for name in ("model-00003-of-00004.safetensors", "model-00001-of-00009.safetensors"):
        (tmp_path / "m" / name).write_text("my trained weights")
    with pytest.raises(FileExistsError):
        sharded_model(tmp_path / "m", "1 MiB")
    sharded_model(tmp_path / "m", "1 MiB", shards=2)
    assert (tmp_path / "m" / "model-00001-of-00009.safetensors").read_text() == "my trained weights"


# Damaged files

# What the format's description forbids, but its implementation accepts.
LET_PASS = {"leading space", "duplicate key", "metadata is null", "a field too many"}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_refused_for_what_it_is(kind):
    safetensors = pytest.importorskip("safetensors")
    data = damaged(kind)
    assert type(data) is bytes
    assert len(data) < 6 * KiB
    assert data == damaged(kind)
    with pytest.raises(SafetensorsError) as caught:
        read_header(data)
    assert caught.value.rule == kind or kind not in RULES
    if kind in LET_PASS:
        safetensors.deserialize(data)
    else:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.deserialize(data)


def test_no_damage_is_the_well_formed_file():
    ((name, tensor),) = pytest.importorskip("safetensors").deserialize(damaged("none"))
    assert (name, tensor["dtype"], tensor["shape"]) == ("weight", "F32", [2])
    assert np.frombuffer(tensor["data"], "<f4").tolist() == [1, 2]


def test_an_unknown_damage():
    with pytest.raises(KeyError, match=r"no damage 'rust'.*overlap"):
        damaged("rust")


# Records


def parsed(path: Path) -> list[tuple]:
    msgspec = pytest.importorskip("msgspec")
    fields = [("id", int), ("name", str), ("lat", float), ("lon", float), ("payload", bytes)]
    struct = msgspec.defstruct("Record", fields, forbid_unknown_fields=True)
    return [
        msgspec.structs.astuple(each)
        for each in msgspec.json.decode(path.read_bytes(), type=list[struct])
    ]


@pytest.mark.parametrize(
    ("count", "payload", "escaped"), [(0, 0, 0), (1, "1 KiB", 1), (1024, 3, 0.5), (2500, 0, 0.1)]
)
def test_the_same_records_in_each_kind(tmp_path, count, payload, escaped):
    how = {"seed": 5, "escaped": escaped, "payload": payload}
    paths = {kind: records(tmp_path / kind, count, kind, **how) for kind in KINDS}
    binary = np.frombuffer(paths["binary"].read_bytes(), record(payload))
    expected = [
        (r["id"], r["name"].decode(), r["lat"], r["lon"], r["payload"].tobytes()) for r in binary
    ]
    assert len(expected) == count
    assert parsed(paths["json"]) == expected
    assert [r[0] for r in expected] == list(range(count))
    assert all(4 <= len(r[1]) <= 24 and abs(r[2]) <= 90 and abs(r[3]) <= 180 for r in expected)
    json_encode = pytest.importorskip("msgspec").json.encode
    assert json_encode(json.loads(paths["json"].read_bytes())) == paths["json"].read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_records_depend_on_their_number_and_the_seed_only(tmp_path, kind):
    few, many = (records(tmp_path / f"{n}", n, kind).read_bytes() for n in (1500, 3000))
    assert many.startswith(few.removesuffix(b"]"))
    assert records(tmp_path / "seed", 1500, kind, seed=1).read_bytes() != few


@pytest.mark.parametrize("escaped", [0.0, 0.25, 1.0])
def test_the_part_that_must_be_escaped(tmp_path, escaped):
    plain, other = (
        records(tmp_path / f"{e}", 8000, "binary", escaped=e, payload=0)
        for e in (-0.0, escaped or 1e-9)
    )
    before, after = (np.fromfile(path, record(0)) for path in (plain, other))
    odd = [bool(re.search(rb'["\\\n]', name)) for name in after["name"].tolist()]
    assert abs(np.mean(odd) - escaped) < 0.03
    assert escaped in odd or 0 < escaped < 1
    assert [re.sub(rb'["\\\n]', b" ", name) for name in after["name"].tolist()] == before[
        "name"
    ].tolist()
    assert all(np.array_equal(before[field], after[field]) for field in ("id", "lat", "lon"))
    if escaped:
        assert {char for name in after["name"].tolist() for char in name} >= set(b'"\\\n')
