"""Pictures of live objects: who keeps what alive, and words of memory. Their words, and whether
they fit.
"""

import ctypes
import gc
import mmap
import re
import sys
import weakref
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest
from pictures import arrows, assert_fits, texts
from tables import each_of

from helpers.lessons.forking.timeline import timeline
from helpers.lessons.lifetimes.owners import exports, owners
from helpers.lessons.values.strides import strides
from helpers.show import memory_words

COUNTED = sys.implementation.name == "cpython"
LINUX = sys.platform == "linux"


# --- who keeps what alive -------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "model.bin").write_bytes(bytes(4 * mmap.PAGESIZE))
    return path


@pytest.fixture
def mapping(file: Path):
    with open(file, "r+b") as opened:
        return mmap.mmap(opened.fileno(), 0)


@pytest.mark.skipif(
    not (COUNTED and LINUX), reason="counts are CPython's, files below come from /proc"
)
def test_views_lead_to_one_owner_and_its_file(mapping):
    row = np.frombuffer(mapping, "f4", 10, 64)
    column = np.frombuffer(mapping, "f4", 100)[::10]
    shown = owners(row=row, column=column, mapping=mapping)
    assert (
        "row: ndarray, a view of 40 B -> memoryview -> mapping: mmap of "
        f"{4 * mmap.PAGESIZE // 1024} KiB (2 exports) -> file model.bin. column: ndarray, a view "
        "of 40 B -> ndarray -> memoryview -> the same mapping." in shown.alt
    )
    assert repr(shown) == shown.alt
    written = texts(shown)
    assert written.count("mapping") == 1
    assert written.count(".obj") == 2
    assert written.count(".base") == 3
    assert "2 exports" in written
    assert f"{row.ctypes.data:#x}" in written
    assert "maps" in written
    assert len(arrows(shown)) == 6
    assert {one.get_linestyle() for one in arrows(shown)} == {"-"}
    assert_fits(shown)


def test_the_picture_counts_nothing_and_keeps_nothing_alive(mapping):
    class Array(np.ndarray):
        pass

    array = np.zeros(100).view(Array)
    alive = weakref.ref(array)
    view = memoryview(mapping)
    before = exports(mapping)
    shown = owners(array=array, view=view, mapping=mapping)
    assert exports(mapping) == before
    view.release()
    mapping.close()
    del array, view
    gc.collect()
    assert alive() is None
    assert "Array" in shown.alt


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_a_view_around_the_count_is_told_apart(mapping):
    counted = np.frombuffer(mapping, np.uint8)
    around = np.ndarray(10, np.uint8, buffer=mapping)
    pointer = ctypes.c_void_p(around.ctypes.data)
    shown = owners(counted=counted, around=around, pointer=pointer, mapping=mapping)
    assert "around: ndarray, a view of 10 B -> (not counted) the same mapping." in shown.alt
    assert "pointer: c_void_p, a pointer -> (an address) the same mapping." in shown.alt
    assert "(1 export)" in shown.alt
    assert len({str(one.get_linestyle()) for one in arrows(shown)}) == 3
    assert {"not counted", "not kept", "keeps alive, not counted"} <= set(texts(shown))
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_a_memmap_is_not_counted_by_its_mapping(file):
    mapped = np.memmap(file, np.uint8, "r")
    shown = owners(mapped=mapped, part=np.asarray(mapped)[8:16])
    assert (
        "ndarray, a view of 8 B -> ndarray -> mapped: memmap -> (not counted) mmap of" in shown.alt
    )
    assert "(0 exports)" in shown.alt
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_views_whose_bytes_are_gone_are_shown_and_never_read():
    mapping = mmap.mmap(-1, mmap.PAGESIZE)
    grown = bytearray(64)
    lost = np.ndarray(10, np.uint8, buffer=mapping)
    lost_too = np.ndarray(64, np.uint8, buffer=grown)
    assert "gone" not in owners(lost=lost, lost_too=lost_too).alt
    mapping.close()
    grown.clear()
    shown = owners(lost=lost, lost_too=lost_too, kept=np.frombuffer(b"abcd", np.uint8))
    assert (
        "lost: ndarray, a view of 10 B (its bytes are gone) -> (not counted) mmap (0 exports,"
        " closed)." in shown.alt
    )
    assert (
        "lost_too: ndarray, a view of 64 B (its bytes are gone) -> (not counted) bytearray (0 "
        "exports)." in shown.alt
    )
    assert "kept: ndarray, a view of 4 B -> bytes of 4 B." in shown.alt
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_of_a_shrunk_owner_only_what_is_cut_off_is_gone():
    shrunk = bytearray(4096)
    low, high = (np.ndarray(8, np.uint8, buffer=shrunk, offset=offset) for offset in (0, 4000))
    del shrunk[3000:]
    told = owners(low=low, high=high, shrunk=shrunk).alt
    assert "high: ndarray, a view of 8 B (its bytes are gone) -> (not counted) " in told
    moved = np.frombuffer(shrunk, np.uint8).ctypes.data != low.ctypes.data
    assert moved or "low: ndarray, a view of 8 B -> (not counted) " in told


def test_a_pointer_into_the_memory_of_none_that_is_shown():
    here = bytearray(64)
    there = np.zeros(64, np.uint8)
    shown = owners(pointer=ctypes.c_void_p(there.ctypes.data), here=here)
    assert "pointer: c_void_p, a pointer. here: bytearray" in shown.alt
    assert not arrows(shown)


def test_shared_memory_leads_through_its_view_to_the_mapping():
    shared = shared_memory.SharedMemory(create=True, size=64)
    try:
        around = np.ndarray(4, np.uint8, buffer=shared.buf)
        shown = owners(shared=shared, view=np.frombuffer(shared.buf, np.uint8), around=around)
        assert "shared: SharedMemory, a block of" in shown.alt
        assert "-> memoryview -> mmap of" in shown.alt
        assert (f"shared memory {shared.name.strip('/')}" in shown.alt) == LINUX
        assert_fits(shown)
    finally:
        shared.close()
        shared.unlink()
    closed = owners(shared=shared, around=around)
    assert re.search(r"shared: SharedMemory, a block of \S+ \S+ \(closed\)", closed.alt)
    assert "around: ndarray, a view of 4 B (its bytes are gone)" in closed.alt or not COUNTED


def test_every_kind_of_owner_and_a_long_way():
    (released := memoryview(b"x")).release()
    strided = np.lib.stride_tricks.as_strided(np.frombuffer(memoryview(b"x" * 72)), (3, 3), (8, 8))
    own = np.arange(10)
    number = ctypes.c_double()
    shown = owners(
        "Eight objects.",
        released=released,
        strided=strided,
        own=own,
        same=own,
        empty=np.zeros(0),
        text=b"some bytes",
        to=ctypes.pointer(number),
        null=ctypes.c_void_p(),
        a_name_that_is_much_longer_than_any_box_could_ever_be_wide=bytearray(8),
    )
    assert "released: memoryview, a view (released)." in shown.alt
    assert "own, same: ndarray, owns its 80 B" in shown.alt
    assert "empty: ndarray, owns its 0 B." in shown.alt
    assert (
        "strided: ndarray, a view of 72 B -> DummyArray -> ndarray -> memoryview -> bytes of 72 B."
        in shown.alt
    )
    assert (
        "to: LP_c_double, a pointer -> c_double of 8 B. null: c_void_p, a pointer to nowhere."
        in shown.alt
    )
    assert shown.caption == "Eight objects."
    assert_fits(shown)


def test_what_shows_no_bytes_is_refused():
    with pytest.raises(TypeError, match="rows is a list, which shows no bytes: give an array"):
        owners(rows=[1, 2])
    with pytest.raises(ValueError, match=r"name the objects, as in owners\(row=row"):
        owners()


# --- words of memory ------------------------------------------------------------------------------

DATA, TABLE = 0x7F12_3456_7890, 0x55D0_AABB_CC00
OBJECT = {
    "fat pointer": [("data", DATA), ("vtable", TABLE)],
    "Scale": [("factor", 0x4000_0000_0000_0000)],
    "vtable of Scale": [
        ("drop", 0x7F00_0000_1000),
        ("size", 24),
        ("align", 8),
        ("infer", 0x7F00_0000_2000),
    ],
}


def test_words_and_what_they_point_to():
    shown = memory_words(OBJECT, "An object.", at={"Scale": DATA, "vtable of Scale": TABLE})
    pointer = "data 0x7f1234567890 (the address of Scale), vtable 0x55d0aabbcc00 (the address of"
    assert f"fat pointer: {pointer} vtable of Scale)." in shown.alt
    assert "Scale: at 0x7f1234567890, factor 0x4000000000000000." in shown.alt
    assert "size 0x18 = 24, align 0x8, infer 0x7f0000002000." in shown.alt
    assert {"+0", "+8", "+16", "+24", "0x4000000000000000", "infer"} <= set(texts(shown))
    assert len(arrows(shown)) == 2
    assert_fits(shown)
    assert not arrows(memory_words(OBJECT))


def test_many_words_long_names_and_a_word_that_points_to_itself():
    name = "itself, under a name of many letters"
    many = [(f"word {i}", DATA if i in (1, 3, 6) else i) for i in range(10)]
    itself = [("a_name_of_a_word_that_is_too_long", DATA), ("largest", 2**64 - 1)]
    shown = memory_words({"many words": many, name: itself}, at={name: DATA})
    assert len(arrows(shown)) == 4
    assert [len(row.cells) for row in shown.rows] == [4, 4, 2, 2]
    assert_fits(shown)


@each_of(
    ("rows", "words"),
    ({}, "at least one row"),
    ({"a": []}, "each with pairs of a name and a value"),
    ({"a": [("b", 2**64)]}, "'b' of 'a' is 18446744073709551616; a word is an int from 0"),
    ({"a": [("b", 1.5)]}, "'b' of 'a' is 1.5"),
)
def test_memory_words_rejects_what_is_no_word(rows, words: str):
    with pytest.raises(ValueError, match=words):
        memory_words(rows)


# --- steps in time, and in memory -----------------------------------------------------------------
def test_an_update_is_lost_only_if_both_read_before_one_writes():
    lost = timeline(["A reads", "B reads", "A writes", "B writes"], at_first=41)
    kept = timeline(["B reads", "B writes", "A reads", "A writes"], at_first=41)
    assert lost.alt.endswith("A and the page have 42. B writes: B and the page have 42.")
    assert kept.alt.endswith("A writes: A and the page have 43.")
    tips = [type(arrow.get_arrowstyle()).__name__[-1] for arrow in arrows(lost)]
    assert tips == ["A", "B", "B", "A"]  # at its left end, or at its right
    assert_fits(lost)


def test_hops_lead_through_the_memory_that_holds_a_result():
    a = np.arange(6.0).reshape(2, 3)
    shown = strides(a, {"turned": a.T, "copied": a.T.ravel(), "back": a[::-1, ::2]})
    assert [row.words[-1][18:] for row in shown.rows] == [
        "0 3 1 4 2 5",
        "0 3 1 4 2 5",
        "3 5 0 2",
    ]
    assert [row.notes[1:] for row in shown.rows] == [[], ["its own memory"], []]
    hops = [text for text in shown.figure.axes[0].texts if hasattr(text, "arrow_patch")]
    assert [hop.xy[0] < hop.xyann[0] for hop in hops].count(True) == 3, "lead back"
    assert_fits(shown)
