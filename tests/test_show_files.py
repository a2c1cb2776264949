"""Pictures of files and of loading: what lies where, what is copied, what is borrowed, what was
read.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D
from pictures import arrows, assert_fits, keys, texts
from tables import each_of

from helpers.ideas.safetensors import SafetensorsError, TensorFile, save
from helpers.lessons.formats.file_layout import file_layout
from helpers.lessons.formats.fractions import fractions, percent
from helpers.show import copy_budget, gallery
from helpers.show.figure import ABSENT, ANONYMOUS, FILE, Kind, Picture, paint
from helpers.units import MiB


def crosses(shown: Picture) -> list[Line2D]:
    """The copies that are crossed out."""
    return [line for line in shown.figure.axes[0].lines if line.get_marker() == "x"]


def raw(*tensors: tuple[str, str, list[int], int], pad: int = 0, **more: object) -> bytes:
    """A file of tensors (name, dtype, shape, bytes), in this order, with `pad` spaces after the
    header.
    """
    table = dict(more)
    begin = 0
    for name, dtype, shape, size in tensors:
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    header = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode() + b" " * pad
    return len(header).to_bytes(8, "little") + header + bytes(begin)


def kinds(shown: Picture) -> list[Kind]:
    """Of the boxes, from left to right and from top to bottom."""
    boxes = {id(box): box for row in shown.rows for box in row.cells}
    return [box.kind for box in boxes.values()]


# --- the bytes of a file --------------------------------------------------------------------------
def test_a_file_from_its_first_byte_to_its_last(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    weight = np.zeros((16, 16), "f4")
    bias = np.zeros(16, "f4")
    empty = np.zeros((0, 3), "f4")
    save({"weight": weight, "bias": bias, "empty": empty}, path)
    shown = file_layout(path, "A model.")
    content = path.read_bytes()
    text = content[8 : 8 + int.from_bytes(content[:8], "little")]
    end = 8 + len(text.rstrip())
    begin = f"header is {len(text)}. length: bytes 0 to 8. header: bytes 8 to {end}. padding: "
    assert begin in shown.alt
    with TensorFile(path) as file:
        places = [
            shown.alt.index(f"{name}, F32 {list(one.shape)}, bytes {one.begin:,} to {one.end:,}")
            for name, one in file.entries.items()
        ]
    assert places == sorted(places)
    assert "with 3 tensors" in shown.alt
    assert [kind.word for kind in kinds(shown)[3:]].count("borrowed in place") == 2
    size = f"{path.stat().st_size / 1024:.3g} KiB"
    assert shown.caption == f"A model. {size} in all; boxes not to scale."
    assert shown.alt == file_layout(content).alt
    assert shown.alt == file_layout(np.fromfile(path, np.uint8)[None].data).alt


@pytest.mark.parametrize("count", [0, 9, 10])
def test_many_tensors_are_summed_up_after_the_eighth(count: int):
    shown = file_layout(raw(*[(f"layer {i}", "F32", [4], 16) for i in range(count)], pad=3))
    assert shown.alt.count("layer ") == (count if count <= 9 else 8)
    assert (f"and {count - 8} more" in texts(shown)) == (count > 9)


def test_the_box_for_the_rest_says_its_types_and_how_many_are_copied():
    first = [(f"a{i}", "F32", [1], 4) for i in range(8)]
    odd = [*first, ("b", "U8", [1], 1), ("c", "F16", [2], 4), ("d", "F64", [1], 8)]
    odd.append(("e", "F64", [0], 0))
    shown = file_layout(raw(*odd, pad=-int.from_bytes(raw(*odd)[:8], "little") % 8))
    assert "and 4 more, U8, F16, F64, bytes" in shown.alt
    assert "2 misaligned: copied" in texts(shown)
    even = file_layout(raw(*first, ("b", "U8", [1], 1), ("c", "U8", [2], 2)))
    assert "and 2 more, U8, bytes" in even.alt
    assert "all borrowed in place." in even.alt


@pytest.mark.filterwarnings("error::UserWarning")  # if the font lacks a glyph
def test_names_of_any_letters_and_length_fit():
    names = [("new\nline", [1]), ("权重", [1] * 40), ("", []), ("long" * 10**5, [1])]
    tensors = [(name, "F32", shape, 4) for name, shape in names]
    shown = file_layout(raw(*tensors, __metadata__={"note": "héllo 权" * 40}))
    assert r"new\nline" in texts(shown)
    assert_fits(shown)


def test_what_the_reader_copies_is_marked_and_nothing_else_is(tmp_path: Path):
    path = tmp_path / "odd.safetensors"
    path.write_bytes(
        raw(
            ("flags", "BOOL", [3], 3),
            ("w", "F32", [2], 8),
            ("none", "F64", [0], 0),
            ("half", "F16", [1], 2),
            ("bytes", "U8", [1], 1),
            ("last", "F64", [1], 8),
        )
    )
    shown = file_layout(path)
    with TensorFile(path) as file:
        dict(file)
        copied = set(file._copies)
        entries = file.entries
    assert copied
    assert copied < set(entries)
    for name, one in entries.items():
        (words,) = [part for part in shown.alt.split(". ") if part.startswith(f"{name}, ")]
        assert (f"misaligned: copied ({one.begin:,} isn't a multiple of" in words) == (
            name in copied
        )
    assert len(copied) == [kind.word for kind in kinds(shown)].count("misaligned: copied")
    assert keys(shown) == ["length and header", "borrowed in place", "misaligned: copied"]
    assert_fits(shown)


def test_no_picture_of_a_damaged_file(tmp_path: Path):
    damaged = raw(("a", "F32", [1], 4)) + b"more"
    (path := tmp_path / "damaged.safetensors").write_bytes(damaged)
    with pytest.raises(SafetensorsError, match="the last tensor ends") as caught:
        file_layout(damaged)
    assert caught.value.rule == "file length"
    assert caught.value.path is None
    with pytest.raises(SafetensorsError, match=r"damaged\.safetensors: the last"):
        file_layout(path)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a file of zeros takes its room")
def test_a_file_is_not_read_beyond_its_header(tmp_path: Path):
    path = tmp_path / "sparse.safetensors"
    small = raw(("a", "U8", [2**36], 0))
    data = 2**36
    header = small[8:].replace(b"[0,0]", b"[0,%d]" % data)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + data)
    assert "64 GiB in all" in file_layout(path).caption
    with open(path, "r+b") as file:
        file.write(b"\xff" * 8)
    with pytest.raises(SafetensorsError):
        file_layout(path)


# --- copies on the way ----------------------------------------------------------------------------
WAYS = {
    "json.loads(path.read_text())": {
        "disk": MiB,
        "page cache": MiB,
        "bytes": MiB,
        "long text": MiB,
        "list": 4 * MiB,
    },
    "np.frombuffer(read())": {"disk": MiB, "page cache": MiB, "bytes": MiB, "array": 0},
    "mapping": {"page cache": MiB, "mapping": 0, "array": 0},
}


def test_every_copy_has_its_bytes_and_every_loan_its_word():
    shown = copy_budget(WAYS, "Three ways.")
    assert len(arrows(shown)) == 6 + 3
    assert texts(shown).count("copied") == 6
    assert texts(shown).count("lent") == len(crosses(shown)) == 3
    assert "copied to long text (1 MiB), copied to list (4 MiB), in all: 7 MiB copied" in shown.alt
    lent = "mapping, from page cache: lent to mapping, lent to array, in all: nothing copied."
    assert lent in shown.alt
    assert keys(shown) == ["anonymous", "file-backed", "no memory"]
    assert_fits(shown)


def test_what_is_made_is_no_copy():
    ways = {"parsed": {"page cache": MiB, "text": MiB, "objects": 4 * MiB}}
    shown = copy_budget(ways, made=["objects"])
    assert texts(shown).count("copied") == texts(shown).count("made") == 1
    assert "parsed: 1 MiB copied, 4 MiB made: 5 × the page cache's 1 MiB" in texts(shown)
    assert "copied to text (1 MiB), objects made (4 MiB)" in shown.alt


def test_a_place_that_bytes_are_lent_to_is_the_memory_that_they_lie_in():
    read = copy_budget({"read": WAYS["np.frombuffer(read())"]})
    assert kinds(read) == [ABSENT, FILE, ANONYMOUS, ANONYMOUS]
    assert kinds(copy_budget({"mapping": WAYS["mapping"]})) == [FILE, FILE, FILE]


def test_copies_that_were_not_measured_and_copies_of_next_to_nothing():
    unknown = {"page cache": MiB, "x": None}
    small = {"page cache": MiB, "dict": 80, "array": 0}
    shown = copy_budget({"not measured": unknown, "header only": small})
    assert "copied to x (not measured here), in all: copied: not measured here." in shown.alt
    assert {"?", "header only: 80 B copied", "80 B"} <= set(texts(shown))
    grey, black, _ = arrows(shown)
    assert grey.get_edgecolor() != black.get_edgecolor()


@each_of(
    ("ways", "words"),
    ({}, "at least one way"),
    ({"a": {"disk": 1}}, "'a' needs 2 to 5 places"),
    ({"a": {"disk": 1, "b": -1}}, "each with bytes from 0 up, not {'disk': 1, 'b': -1}"),
)
def test_copy_budget_rejects_bad_chains(ways, words: str):
    with pytest.raises(ValueError, match=words):
        copy_budget(ways)


# --- borrowed and owned ---------------------------------------------------------------------------
def test_the_parts_of_a_bar():
    shown = fractions({"json.loads": 0.0, "a parser": 0.94, "safetensors": 1}, "Three loaders.")
    bars = [row.cells[0].parts for row in shown.rows]
    assert bars[0] == [(0, paint(FILE)), (1, paint(ANONYMOUS))]
    assert bars[1] == [(0.94, paint(FILE)), (pytest.approx(0.06), paint(ANONYMOUS))]
    assert "a parser: 94 % borrowed, 6 % owned. safetensors: 100 %" in shown.alt
    assert keys(shown) == ["borrowed", "owned"]


@pytest.mark.parametrize(
    ("fraction", "words"),
    [(0, "0 %"), (0.001, "under 1 %"), (0.01, "1 %"), (0.9999, "over 99 %"), (1, "100 %")],
)
def test_a_little_is_not_nothing(fraction: float, words: str):
    assert percent(fraction) == words


@pytest.mark.parametrize("rows", [{}, {"a": 94}, {"a": float("nan")}])
def test_fractions_rejects_what_is_no_fraction(rows):
    with pytest.raises(ValueError, match="at least one row, each with a fraction from 0 to 1, not"):
        fractions(rows)


# --- small pictures -------------------------------------------------------------------------------
def digits(count: int, height: int = 8, across: int = 8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 17, (count, height, across), np.uint8)


def test_each_picture_has_its_words_and_the_wrong_ones_a_sign():
    images = digits(12)
    read = [3, 7, 1, "8, not 9", *range(8)]
    images[5] //= 4  # a faint one stays faint
    shown = gallery(images, read, wrong=[3])
    assert "12 pictures of 8 by 8 pixels, with the words: 3; 7; 1; 8, not 9; 0;" in shown.alt
    assert shown.alt.endswith("Marked as wrong: picture 4 (8, not 9).")
    assert texts(shown).count("✗ 8, not 9") == 1
    for image, seen in zip(images, shown.figure.axes[0].images, strict=True):
        assert np.array_equal(seen.get_array(), image)
        assert seen.get_clim() == (0, 16)


@pytest.mark.parametrize("words", ["8", "a line that is longer than any picture is wide, by far"])
def test_pictures_with_short_and_long_words_fit(words: str):
    assert_fits(gallery(digits(24, 6, 9), [words] * 24, wrong=range(0, 24, 2)))


def test_bools_say_the_same_as_numbers():
    images = digits(4)
    read = np.array([1, 2, 3, 4])
    truth = np.array([1, 0, 3, 0])
    assert gallery(images, read, read != truth).alt == gallery(images, read, [1, 3]).alt
    assert "wrong" not in gallery(images, read, read != read).alt


@each_of(
    ("images", "words", "wrong", "complaint"),
    (digits(2)[0], "ab", (), r"images of shape \(8, 8\); a gallery takes \(n, height, width\)"),
    (digits(25), "a" * 25, (), "n from 1 to 24"),
    (digits(2), "a", (), "1 words for 2 pictures"),
    (digits(2), "ab", [2], "index 2 is out of bounds"),
    (digits(2), "ab", [True], "boolean index did not match"),
    (digits(2) - 5.0, "ab", (), "range from -5.0 to 11.0; use 0 and above"),
)
def test_gallery_rejects_what_it_cannot_show(images, words, wrong, complaint: str):
    with pytest.raises((ValueError, IndexError), match=complaint):
        gallery(images, words, wrong)


def test_a_blank_picture():
    assert (
        gallery(np.zeros((1, 8, 8)), ["nothing"]).alt
        == "1 picture of 8 by 8 pixels, with the words: nothing."
    )
