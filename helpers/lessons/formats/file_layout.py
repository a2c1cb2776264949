"""What's where in a safetensors file: the length, the header, its padding, then one tensor after another."""

import os
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...ideas.safetensors import Entry, Header, SafetensorsError, read_header
from ...ideas.tensor_header import BITS, LONGEST, Buffer
from ...show.boxes import BAND, LINE, PAD, WIDE, banded, sheet, shortened
from ...show.figure import ABSENT, ANONYMOUS, FILE, INK, LOOK, QUIET, Kind, Picture, key, legend, look, picture
from ...show.fitting import MONO, width
from ...units import in_words

DRAWN, EACH = 9, 3  # boxes for tensors, the last of them perhaps "and 28 more"; boxes side by side
KEYS, BETWEEN = 32, 8  # the page's pixels: the legend, between rows
LENGTH, PADDING = 112, 120  # widths
SMALL = 7.5  # points
TALL = BAND + 2 * PAD + 4 * LINE
HEADER = ABSENT._replace(word="length and header")
BORROWED, COPIED = FILE._replace(word="borrowed in place"), ANONYMOUS._replace(word="misaligned: copied")
EMPTY = ABSENT._replace(word="no bytes")


class Box(NamedTuple):
    """Some bytes of the file, drawn as a box with up to four lines of text."""

    lines: list[str]
    kind: Kind
    wide: float = (WIDE - 8) / EACH
    why: str = ""


def file_layout(source: str | os.PathLike | Buffer, caption: str = "") -> Picture:
    """A row for the length and the header of a file, given as a path or as bytes; below it, a box for each tensor.

    The boxes follow the file, from left to right, and aren't to scale. Each gives its bytes, counted from the start of
    the file, first included and last not. A tensor whose offset isn't a multiple of its item size can't be an array
    in place, so it's marked as copied. If there are more than nine tensors, the ninth box sums up the rest.

    SafetensorsError for a file that breaks a rule of the format; OSError if it can't be read.
    """
    head, size = _head(source)
    try:
        header = read_header(head, size)
    except SafetensorsError as error:
        error.path = None if isinstance(source, Buffer) else source
        raise
    text = bytes(memoryview(head)[8 : header.size]).decode()
    with look():
        fig = _drawn(text, list(header.entries.values()))
    return picture(fig, _alt(text, header, size), f"{caption} {in_words(size, 'bytes')} in all; boxes not to scale.")


def misaligned(entry: Entry) -> bool:
    """Does the tensor begin where no array of its dtype can?"""
    return entry.end > entry.begin and entry.begin * 8 % max(8, BITS[entry.dtype]) != 0


def _head(source: str | os.PathLike | Buffer) -> tuple[Buffer, int]:
    """The bytes up to the end of the header, but no more than a header may have; and the size of the file."""
    if isinstance(source, Buffer):
        view = memoryview(source).cast("B")
        return view, len(view)
    with open(source, "rb") as file:
        size, length = os.fstat(file.fileno()).st_size, file.read(8)
        return length + file.read(min(int.from_bytes(length, "little"), size, LONGEST)), size


def _drawn(text: str, entries: list[Entry]) -> Figure:
    tensors = _tensors(entries)
    rows = [_first(text), *(tensors[first : first + EACH] for first in range(0, len(tensors), EACH))]
    fig, ax = sheet(KEYS + len(rows) * (TALL + BETWEEN))
    for index, row in enumerate(rows):
        left = 4.0
        for box in row:
            _draw(ax, box, left, KEYS + index * (TALL + BETWEEN))
            left += box.wide
    there = {box.kind for row in rows for box in row}
    legend(fig, *(key(kind) for kind in (HEADER, BORROWED, COPIED) if kind in there))
    return fig


def _first(text: str) -> list[Box]:
    """The length, the header's first characters, and the spaces after it, if any."""
    length, spaces = len(text.encode()), _spaces(text)
    wide = WIDE - 8 - LENGTH - PADDING * bool(spaces)
    letters = int((wide - 2 * PAD) / width("x", SMALL, family=MONO))
    shown = _plain(text[: 2 * letters + 1].rstrip(" "))
    lines = [shown[:letters], shown[letters : 2 * letters - 1] + "…" if len(shown) > 2 * letters else shown[letters:]]
    return [
        Box(["length", f"{length:,}", "", _bytes(0, 8)], HEADER, LENGTH),
        Box(["header", *lines, _bytes(8, 8 + length - spaces)], HEADER, wide),
        *[Box(["padding", f"{spaces:,} × space", "", _bytes(8 + length - spaces, 8 + length)], HEADER, PADDING)]
        * bool(spaces),
    ]


def _tensors(entries: list[Entry]) -> list[Box]:
    """A box for each tensor; or for the first eight, and one for all the others."""
    if len(entries) <= DRAWN:
        return list(map(_tensor, entries))
    drawn, others = entries[: DRAWN - 1], entries[DRAWN - 1 :]
    copied = sum(map(misaligned, others))
    dtypes = ", ".join(dict.fromkeys(entry.dtype for entry in others))
    word = f"{copied:,} {COPIED.word}" if copied else "all borrowed in place"
    lines = [f"and {len(others):,} more", dtypes, _bytes(others[0].begin, others[-1].end), word]
    return [*map(_tensor, drawn), Box(lines, COPIED if copied else BORROWED)]


def _tensor(entry: Entry) -> Box:
    kind = EMPTY if entry.begin == entry.end else COPIED if misaligned(entry) else BORROWED
    lines = [_plain(entry.name), f"{entry.dtype} {list(entry.shape)}", _bytes(entry.begin, entry.end), kind.word]
    return Box(lines, kind, why=f" ({entry.begin:,} isn't a multiple of {BITS[entry.dtype] // 8})" * (kind == COPIED))


def _draw(ax: Axes, box: Box, left: float, top: float) -> None:
    banded(ax, left, top, box.wide, TALL, box.kind)
    for number, words in enumerate(box.lines):
        bold = number == 0 or (box.kind == COPIED and number == 3)
        how = (
            {"size": SMALL, "family": MONO} if box.kind == HEADER and number in (1, 2) else {"size": LOOK["font.size"]}
        )
        ax.text(
            left + PAD, top + BAND + PAD + (number + 0.5) * LINE,
            shortened(words, box.wide - 2 * PAD, bold=bold, **how), va="center_baseline",
            fontweight="bold" if bold else "normal", color=QUIET if words.startswith("bytes ") else INK, **how,
        )  # fmt: skip


def _plain(text: str) -> str:
    """`text` without line breaks, and without letters that the font may lack."""
    return text if text.isprintable() and max(text, default="") < "\u0370" else ascii(text)[1:-1]


def _spaces(text: str) -> int:
    return len(text) - len(text.rstrip(" "))


def _bytes(begin: int, end: int) -> str:
    return f"bytes {begin:,} to {end:,}"


def _alt(text: str, header: Header, size: int) -> str:
    spaces = _spaces(text)
    padding = f"; then {spaces:,} of padding" * bool(spaces)
    told = [f"Bytes 0 to 8 are the length of the header, {len(text.encode()):,}; "
            f"{_bytes(8, header.size - spaces)} are the header{padding}"]  # fmt: skip
    told += [f"{', '.join(box.lines)}{box.why}" for box in _tensors(list(header.entries.values()))]
    count = f"{len(header.entries):,} tensor{'s' * (len(header.entries) != 1)}"
    return f"A safetensors file of {in_words(size, 'bytes')} with {count}, from its first byte. {'. '.join(told)}."
