"""Arena and KmerIndex: what goes in comes out as a view; what doesn't fit is refused; few pages are
touched.
"""

import gc
import os
import re
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from helpers.ideas.arena import (
    ALIGNMENT,
    FORMAT,
    ORDER,
    Arena,
    Builder,
    SnapshotError,
    StaleSnapshot,
    snapshot,
)
from helpers.ideas.kmers import KmerIndex
from helpers.measure import where

LINUX = sys.platform == "linux"
SIZE = FORMAT.size
RECORD = np.dtype([("id", "u4"), ("where", "u8"), ("name", "S3")])


def mapped(folder: Path) -> bool:
    """Is a file in this folder mapped?"""
    return LINUX and str(folder) in Path("/proc/self/maps").read_text()


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "snapshot.arena"
    gc.collect()
    assert not mapped(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")], "a half file stayed"


def fill(builder: Builder) -> None:
    builder.place(np.arange(7, dtype="f4"))
    builder.root = builder.place(np.array((1, SIZE, b"abc"), RECORD))


def made(path: Path, layout: str = "test", origin: bytes = b"origin") -> bytes:
    with Arena.create(path, layout, origin) as builder:
        fill(builder)
    return path.read_bytes()


def refused(
    path: Path, data: bytes, layout: str = "test", origin: bytes | None = b"origin"
) -> SnapshotError:
    path.write_bytes(data)
    with pytest.raises(SnapshotError) as caught:
        Arena.open(path, layout, origin)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == data
    assert not mapped(path.parent), "the traceback holds what was open"
    return caught.value.with_traceback(None)


def sealed(head: bytes, **changed: int | bytes) -> bytes:
    """A header with some values changed, and a checksum that matches."""
    names = ("magic", "order", "version", "layout", "size", "root", "origin")
    values = dict(zip(names, FORMAT.unpack(head)[:-1], strict=True)) | changed
    head = FORMAT.pack(*values.values(), 0)[:-4]
    return head + struct.pack("=I", zlib.crc32(head))


# --- what goes in comes out
DTYPES = npst.scalar_dtypes() | npst.byte_string_dtypes() | npst.unicode_string_dtypes()
RECORDS = st.lists(DTYPES, min_size=1, max_size=3).map(
    lambda types: np.dtype(",".join(dtype.str for dtype in types))
)
ARRAYS = npst.arrays(DTYPES | RECORDS, npst.array_shapes(min_dims=0, min_side=0, max_side=5))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        ARRAYS | ARRAYS.map(np.transpose) | ARRAYS.map(np.atleast_1d).map(lambda a: a[::2]),
        max_size=6,
    )
)
def test_what_is_placed_comes_back(arrays: list[np.ndarray]):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arena")
        with Arena.create(path, "any") as builder:
            offsets = [builder.place(array) for array in arrays]
        with Arena.open(path, "any") as arena:
            assert arena.size == path.stat().st_size
            mapped = np.frombuffer(arena._yoke.get(), np.uint8)
            end = SIZE
            for array, offset in zip(arrays, offsets, strict=True):
                view = arena.array(offset)
                assert view.dtype == array.dtype
                assert view.shape == array.shape
                assert view.tobytes() == array.tobytes()
                assert not view.flags.writeable
                assert view.ctypes.data % ALIGNMENT == 0
                assert offset % ALIGNMENT == 0 and offset >= end, "one lies on the other"
                begin = view.ctypes.data - mapped.ctypes.data
                assert offset < begin
                assert begin + view.nbytes <= arena.size
                assert np.may_share_memory(view, mapped) or not view.nbytes
                end = begin + view.nbytes
            del mapped


@pytest.mark.skipif(not LINUX, reason="/proc tells which file is mapped at an address")
def test_a_view_is_a_view_of_the_file_and_outlives_the_arena(path: Path):
    made(path)
    with Arena.open(path, "test") as arena:
        view = arena.array(SIZE)
        record = arena.array(arena.root)
        assert where(view).path == path
        assert record["name"] == b"abc" and arena.array(record["where"])[2] == 2, (
            "a record leads to the rest"
        )
        assert repr(arena) == f"Arena({str(path)!r}, {arena.size} B)"
    with path.open("rb") as file:
        file.seek(SIZE)
        assert view.tolist() == np.load(file).tolist() == list(range(7)), (
            "an array in the arena is an .npy file"
        )
    with pytest.raises(ValueError, match="released"):
        arena.array(SIZE)
    arena.close()


MASKED = np.ma.masked_array([1, 2], [False, True])


@pytest.mark.parametrize(
    "value", [[None], [{"a": 1}], np.array(["text"], np.dtypes.StringDType()), MASKED, "bfloat16"]
)
def test_pointers_are_not_placed(path: Path, value: object):
    if type(value) is str:  # no pointers, but .npy would lose the dtype
        value = np.zeros(2, pytest.importorskip("ml_dtypes").bfloat16)
    with (
        pytest.raises(TypeError, match="an arena can't hold"),
        Arena.create(path, "test") as builder,
    ):
        builder.place(value)
    assert not path.exists()


# --- what does not fit
def test_every_byte_of_the_header_counts(path: Path):
    data = made(path)
    for i in range(SIZE):
        error = refused(path, data[:i] + bytes([data[i] ^ 0x80]) + data[i + 1 :])
        assert type(error) is (StaleSnapshot if 12 <= i < 16 else SnapshotError), i


def test_a_file_that_was_cut_short_or_made_longer(path: Path):
    data = made(path)
    for end in range(len(data)):
        assert type(refused(path, data[:end])) is SnapshotError
    assert "were written" in str(refused(path, data + b"\0"))


def test_foreign_or_damaged_file_is_refused_and_kept(path: Path):
    for data in (b"x", b"\x89PNG\r\n\x1a\n" + bytes(200), made(path, origin=b"")[:-1]):
        assert type(refused(path, data)) is SnapshotError
        with pytest.raises(SnapshotError):
            snapshot(path, "test", fill)
        assert path.read_bytes() == data, "it is not ours to replace"


def test_another_byte_order_and_another_version(path: Path):
    data = made(path)
    swapped = struct.unpack("<I", struct.pack(">I", ORDER))[0]
    error = refused(path, sealed(data[:SIZE], order=swapped) + data[SIZE:])
    assert type(error) is SnapshotError
    assert "byte order" in str(error)
    error = refused(path, sealed(data[:SIZE], version=1) + data[SIZE:])
    assert type(error) is StaleSnapshot
    assert "version 1" in str(error)


def test_another_layout_and_another_origin(path: Path):
    data = made(path)
    assert "doesn't have the layout 'other'" in str(refused(path, data, layout="other"))
    assert type(refused(path, data, layout="other")) is StaleSnapshot
    for other in (b"", b"origin\0", b"Origin"):
        assert type(refused(path, data, origin=other)) is StaleSnapshot
    Arena.open(path, "test").close()  # any origin
    with (
        pytest.raises(ValueError, match="at most 64 bytes, not 65"),
        Arena.create(path, "test", bytes(65)),
    ):
        pass
    assert path.read_bytes() == data
    made(path, origin=bytes(64))
    Arena.open(path, "test", bytes(64)).close()


def test_no_offset_leads_out_of_the_file(path: Path):
    data = made(path)
    with Arena.open(path, "test") as arena:
        for offset in (-64, SIZE + 1, SIZE + 32, -(-len(data) // 64) * 64, 2**62, 2**64, -(2**70)):
            with pytest.raises(SnapshotError, match=f"has nothing at offset {offset}"):
                arena.array(offset)
        for offset in (0, 64, SIZE + 64, len(data) // 64 * 64):
            with pytest.raises(SnapshotError, match=f"has no array at offset {offset}"):
                arena.array(offset)
        with pytest.raises(TypeError):
            arena.array(128.0)
    with Arena.create(path, "test"):
        pass
    with Arena.open(path, "test") as arena, pytest.raises(SnapshotError):
        arena.array(arena.root)  # no root was set


@pytest.mark.parametrize(
    "lie",
    [
        "'descr': '|S0'",
        "'shape': (-1,)",
        "'descr': '|O'",
        "'shape': (99,)",
        "'shape': (9223372036854775807, 0)",
        "((((((((((",
    ],
)
def test_no_array_leads_out_of_the_file(path: Path, lie: str):
    data = bytearray(made(path))
    key = lie.partition(":")[0]
    text = data[SIZE + 10 : SIZE + 128].decode()
    line = re.sub(key + r": ('[^']*'|\([^)]*\))", lie, text) if ":" in lie else lie + text
    assert line != text
    data[SIZE + 10 : SIZE + 128] = line.rstrip()[:118].ljust(117).encode() + b"\n"
    path.write_bytes(data)
    with (
        Arena.open(path, "test") as arena,
        pytest.raises(SnapshotError, match=f"no array at offset {SIZE}"),
    ):
        arena.array(SIZE)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_random_damage_is_refused_or_lies_in_the_file(draw: st.DataObject):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arena")
        data = bytearray(made(path))
        for _ in range(draw.draw(st.integers(1, 4))):
            data[draw.draw(st.integers(SIZE, SIZE + 127))] = draw.draw(st.integers(0, 255))
        path.write_bytes(data)
        with Arena.open(path, "test") as arena:
            try:
                view = arena.array(SIZE)
            except SnapshotError:
                return
            mapped = np.frombuffer(arena._yoke.get(), np.uint8).ctypes.data
            assert mapped < view.ctypes.data
            assert view.ctypes.data + view.nbytes <= mapped + arena.size
            view.tobytes()
            del view


# --- how it is built
def test_built_once_and_again_when_stale(path: Path):
    calls = []

    def build(builder: Builder) -> None:
        calls.append(1)
        fill(builder)

    for times, (layout, origin) in enumerate([("a", b"1"), ("a", b"2"), ("b", b"2")], start=1):
        for _ in range(2):
            with snapshot(path, layout, build, origin) as arena:
                assert arena.array(SIZE)[6] == 6
                assert len(calls) == times


def test_build_that_was_overtaken_is_repeated(path: Path, monkeypatch: pytest.MonkeyPatch):
    replace = os.replace

    def overtaken(old: str, new: str) -> None:
        replace(old, new)
        monkeypatch.setattr(os, "replace", replace)
        snapshot(path, "test", fill, b"another").close()

    monkeypatch.setattr(os, "replace", overtaken)
    with snapshot(path, "test", fill, b"mine") as arena:
        assert arena.array(SIZE)[6] == 6
    Arena.open(path, "test", b"mine").close()


# --- the index of a text
def naive(text: bytes, k: int) -> dict[str, list[int]]:
    """Each word of k letters, and where it begins."""
    found: dict[str, list[int]] = {}
    for i in range(len(text) - k + 1):
        word = text[i : i + k].upper().decode("latin1")
        if set(word) <= set("ACGT"):
            found.setdefault(word, []).append(i)
    return found


@settings(deadline=None, max_examples=40)
@given(
    st.text("ACGT", max_size=60) | st.text("ACGTNacgt\n", max_size=300),
    st.integers(1, 6) | st.just(32),
)
@example("T" * 34, 32)  # the last word of all: its code is 2**64 - 1
def test_every_word_is_found_where_it_stands(text: str, k: int):
    with tempfile.TemporaryDirectory() as folder:
        (source := Path(folder, "text")).write_bytes(text.encode())
        expected = naive(text.encode(), k)
        with KmerIndex.of(source, k, Path(folder, "index")) as index:
            assert len(index.codes) == sum(map(len, expected.values()))
            for word, places in expected.items():
                assert index.find(word).tolist() == index.find(word.lower()).tolist() == places
            for word in {word[1:] + letter for word in list(expected)[:20] for letter in "ACGT"} | {
                "A" * k,
                "T" * k,
            }:
                assert index.find(word).tolist() == expected.get(word, [])
            assert (np.diff(index.codes.astype(object)) >= 0).all()


def test_the_index_follows_its_text(path: Path):
    (source := path.with_name("text")).write_bytes(b"ACGTACGT")
    inode = []
    for k, word, places in ((3, "CGT", [1, 5]), (3, "CGT", [1, 5]), (4, "CGTA", [1])):
        with KmerIndex.of(source, k, path) as index:
            assert index.find(word).tolist() == places
        inode.append(path.stat().st_ino)
    assert inode[0] == inode[1], "built once"
    source.write_bytes(b"TTCGTATT")
    os.utime(source, ns=(0, 123_456_789))
    with KmerIndex.of(source, 4, path) as index:
        assert index.find("CGTA").tolist() == [2]
        assert index.find("CGTC").tolist() == []
        for word in ("CGT", "CGTAA", "CGTN", "CGTé", ""):
            with pytest.raises(ValueError, match="4 letters A, C, G, T"):
                index.find(word)
    with pytest.raises(ValueError, match="closed"):
        index.find("CGTA")
    for k in (0, 33, -1):
        with pytest.raises(ValueError, match=f"1 to 32 letters of two bits each, not {k}"):
            KmerIndex.of(source, k, path)
