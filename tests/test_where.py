"""`where` for what Python and numpy have, for a type of one's own, and for what has no buffer."""

import array
import ctypes
import io
import mmap
import sys
import weakref
from collections.abc import Callable
from html import unescape
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from tables import each_of

from helpers.kernel import tell_in_a_line
from helpers.measure import where, whereabouts
from helpers.measure.whereabouts import MOST, Parts, Whereabouts
from helpers.units import MiB

A = np.zeros((4 * MiB // 8, 2))


# --- how the elements lie -------------------------------------------------------------------------
@each_of(
    ("view", "layout", "extent"),
    (A, f"float64 {A.shape}, C order", "8 MiB"),
    (A.T, f"float64 {A.T.shape}, F order", "8 MiB"),
    (
        A[::2],
        f"float64 ({len(A) // 2}, 2), neither C nor F order, strides (32, 8) bytes",
        "4 MiB of elements, in 8 MiB",
    ),
    (A[::-1], f"float64 {A.shape}, neither C nor F order, strides (-16, 8) bytes", "8 MiB"),
    (
        np.broadcast_to(A[0], A.shape),
        f"float64 {A.shape}, neither C nor F order, strides (0, 8) bytes",
        "8 MiB of elements, in 16 B",
    ),
    (
        memoryview(A)[::2],
        f"'d' ({len(A) // 2}, 2), neither C nor F order, strides (32, 8) bytes",
        "4 MiB of elements, in 8 MiB",
    ),
    (array.array("i", [1, 2]), "'i' (2,), C order", "8 B"),
    (b"plain", "", "5 B"),
)
def test_the_layout_and_the_gaps_are_told(view, layout: str, extent: str):
    at = where(view)
    assert (at.layout, at.extent) == (layout, extent)
    for text in (repr(at), unescape(at._repr_html_()).replace("\xa0", " ")):
        assert layout in text
        assert f"{extent} at {at.address:#x}" in text
    assert ("layout" in repr(at)) == bool(layout)


def test_references_and_long_strings_lie_elsewhere():
    assert (
        where(np.array([[], {}], object)).note
        == "2 references to 2 objects, which lie all over the heap"
    )
    assert "over 15 bytes" in repr(where(np.array(["a" * 20], np.dtypes.StringDType())))
    assert "note" not in repr(where(A))


# --- things of several parts ----------------------------------------------------------------------
def test_a_mask_is_a_part_and_an_archive_reads_anew(tmp_path: Path):
    masked = where(np.ma.array([1.0, 2.0], mask=[True, False]))
    assert masked["data"].layout == "float64 (2,), C order"
    assert masked["mask"].layout == "bool (2,), C order"
    assert where(np.ma.array([1.0]))["mask"] == "none: nothing is masked"
    np.savez(tmp_path / "x.npz", a=A)
    with np.load(tmp_path / "x.npz") as archive:
        assert "x['a'] reads it anew each time" in where(archive)["a"]


def test_a_pointer_is_not_its_target():
    target = (ctypes.c_double * 1000)()
    for pointer in (
        ctypes.pointer(target),
        ctypes.cast(target, ctypes.c_void_p),
        A.ctypes.data_as(ctypes.c_void_p),
    ):
        parts = where(pointer)
        address = A.ctypes.data if hasattr(pointer, "_arr") else ctypes.addressof(target)
        assert parts["the pointer"].size == 8
        assert parts["its target"].address == address
        assert parts["its target"].size >= 8000
    assert where(ctypes.c_void_p())["its target"] == "none: it is a null pointer"
    assert "a bare address" in where(ctypes.c_void_p(ctypes.addressof(target)))["its target"]
    assert where(target).size == 8000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory")
def test_a_block_of_shared_memory_is_looked_into_and_a_closed_one_is_refused():
    block = shared_memory.SharedMemory(create=True, size=5000)
    try:
        assert where(block).memory == "shared memory"
        assert where(block).path.name == block.name.lstrip("/")
    finally:
        block.close()
        block.unlink()
    with pytest.raises(ValueError, match="this SharedMemory is closed"):
        where(block)


def test_an_array_that_outlives_its_mapping_is_refused_in_words():
    mapping = mmap.mmap(-1, MiB)
    array = np.ndarray(MiB, np.uint8, buffer=mapping)  # not counted: the mapping can be closed
    mapping.close()
    for view in (array, array[5:]):
        with pytest.raises(
            ValueError, match="the mapping under this ndarray is closed: reading its bytes may"
        ):
            where(view)


def test_a_file_in_memory_lends_its_bytes():
    text = io.BytesIO(b"x" * MiB)
    with text.getbuffer() as lent:
        assert (where(text).address, where(text).size) == (where(lent).address, MiB)


# --- a type of one's own --------------------------------------------------------------------------
class Picture:
    def __init__(self):
        self.pixels = A
        self.frames = [A[:1], A[1:]]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Callable:
    monkeypatch.setattr(whereabouts, "DESCRIBERS", whereabouts.DESCRIBERS.copy())
    return where.register


def test_a_type_of_ones_own_takes_five_lines(registered: Callable):
    @where.register(Picture)
    def parts(picture):
        yield "pixels", picture.pixels, "drawn on"
        yield "thumbnail", "in the file; where(picture.thumbnail()) reads it"

    class Photo(Picture):
        pass

    shown = where(Photo())
    assert list(shown) == ["pixels", "thumbnail"]
    assert shown["pixels"].address == A.ctypes.data
    assert shown.title == "Where the parts of this Photo lie"
    assert shown["pixels"].note == "drawn on"
    for text in (repr(shown), shown._repr_html_()):
        assert "C order; drawn on" in text
        assert "8 MiB" in text
        assert "ndarray: owns its 8 MiB" in text
        assert "in the file; where(picture.thumbnail()) reads it" in text


def test_parts_have_parts_and_the_same_name_may_come_twice(registered: Callable):
    registered(Picture)(
        lambda picture: [("pixels", picture.pixels), *(("frame", one) for one in picture.frames)]
    )
    registered(list)(lambda album: [("left", album[0]), ("right", album[1], "the last")])
    shown = where([Picture(), Picture()])
    assert list(shown) == [
        f"{side}, {part}" for side in ("left", "right") for part in ("pixels", "frame", "frame #2")
    ]
    assert shown["right, frame #2"].note == "the last"
    assert shown["left, frame"].size == 16


def test_of_a_list_each_array_has_its_owner():
    large = np.zeros(5000)
    shown = where(["text", large[:9], large[9:12].copy()])
    assert [(name, part.owners[-1][1]) for name, part in shown.items()] == [
        ("[1]", "owns its 39.1 KiB"),
        ("[2]", "owns its 24 B"),
    ]


def test_what_raises_or_has_no_end_becomes_a_line(registered: Callable):
    def broken(picture):
        yield "pixels", picture.pixels
        yield "empty", b""
        yield "size", 5
        yield "names", picture.names

    registered(Picture)(broken)
    pixels, *lines = where(Picture()).values()
    assert isinstance(pixels, Whereabouts)
    assert lines[0] == "an empty bytes has no bytes: there is nothing to look at"
    assert lines[1].startswith("int shows no bytes of its own")
    assert lines[2] == "not known: AttributeError: 'Picture' object has no attribute 'names'"
    registered(Picture)(lambda picture: (("again", picture.frames[0]) for _ in iter(int, 1)))
    assert len(where(Picture())) == MOST + 1
    assert f"only the first {MOST} parts" in repr(where(Picture()))
    registered(Picture)(lambda picture: [("itself", picture)])
    assert "RecursionError" in repr(where(Picture()))


# --- what has no buffer ---------------------------------------------------------------------------
class Wrapper:
    data = A

    def __array__(self):
        raise AssertionError("where must not make an array")


def test_a_refusal_keeps_nothing():
    alive = weakref.ref(thing := Wrapper())
    with pytest.raises(TypeError) as refused:
        where(thing)
    del thing
    assert refused
    assert alive() is None


@each_of(
    ("thing", "way_on"),
    ([1, 2], "its elements lie all over the heap; ask about an element"),
    (
        "text",
        (
            "Python doesn't lend its characters; sys.getsizeof(x) is how many bytes they and their "
            "header take"
        ),
    ),
    (
        Wrapper(),
        (
            "ask where(np.asarray(x)), and once more: if the address changes, each answer is about "
            "a copy"
        ),
    ),
    (
        object(),
        "ask about what it keeps, as where(x.data), or say what that is: help(where.register)",
    ),
)
def test_what_shows_no_bytes_is_refused_with_a_way_on(
    thing, way_on: str, shell: InteractiveShell, capsys
):
    message = f"{type(thing).__name__} shows no bytes of its own: {way_on}"
    with pytest.raises(TypeError) as refused:
        where(thing)
    assert str(refused.value) == message
    tell_in_a_line(shell)
    shell.push({"where": where, "thing": thing})
    shell.run_cell("where(thing)")
    assert capsys.readouterr().out.strip() == f"TypeError: {message}"


def test_lines_alone_make_a_table_of_two_columns():
    assert (
        repr(Parts("Dataset", {"cache": "at most 1 MiB"}))
        == "part   what it is\ncache  at most 1 MiB"
    )
