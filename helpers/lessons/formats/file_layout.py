"""What's where in a safetensors file: the length, the header, its padding, then one tensor after
another.
"""

import os
from typing import NamedTuple

from ...ideas.safetensors import Entry, SafetensorsError, read_header
from ...ideas.tensor_header import BITS, LONGEST, Buffer
from ...show.boxes import BAND, LINE, MONO, PAD, SIZE, WIDE, banded, sheet, shortened, width
from ...show.figure import (
    ABSENT,
    ANONYMOUS,
    FILE,
    INK,
    QUIET,
    Kind,
    Picture,
    key,
    legend,
    look,
    picture,
)
from ...units import in_words

DRAWN, EACH = 9, 3  # boxes for tensors, the last of them perhaps "and 28 more"; boxes side by side
KEYS, BETWEEN = 32, 8  # the page's pixels: the legend, between rows
LENGTH, PADDING = 112, 120  # widths
SMALL = 7.5  # points
TALL = BAND + 2 * PAD + 4 * LINE
HEADER = ABSENT._replace(word="length and header")
BORROWED = FILE._replace(word="borrowed in place")
COPIED = ANONYMOUS._replace(word="misaligned: copied")
EMPTY = ABSENT._replace(word="no bytes")


class Box(NamedTuple):
    """Some bytes of the file, drawn as a box with up to four lines of text; `why` is in the
    alternative text only.
    """

    lines: list[str]
    kind: Kind
    wide: float = (WIDE - 8) / EACH
    why: str = ""


@look()
def file_layout(source: str | os.PathLike | Buffer, caption: str = "") -> Picture:
    """A row for the length and the header of a file, given as a path or as bytes; below it, in the
    file's order and not to scale, a box for each tensor: its bytes, counted from the start of the
    file, first included and last not. A tensor whose offset isn't a multiple of its item size can't
    be an array in place, so it's marked as copied. A ninth box sums up all that follow.
    SafetensorsError for a file that breaks a rule of the format; OSError if it can't be read.
    """
    if isinstance(source, Buffer):
        head = memoryview(source).cast("B")
        size = len(head)
    else:  # the bytes up to the end of the header, but no more than a header may have
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = file.read(8)
            head = length + file.read(min(int.from_bytes(length, "little"), size, LONGEST))
    try:
        header = read_header(head, size)
    except SafetensorsError as error:
        error.path = None if isinstance(source, Buffer) else source
        raise
    text = bytes(memoryview(head)[8 : header.size]).decode()
    first = _first(text)
    tensors = _tensors(list(header.entries.values()))
    rows = [first, *(tensors[start : start + EACH] for start in range(0, len(tensors), EACH))]
    fig, ax = sheet(KEYS + len(rows) * (TALL + BETWEEN))
    for index, row in enumerate(rows):
        left = 4.0
        for box in row:
            top = KEYS + index * (TALL + BETWEEN)
            banded(ax, left, top, box.wide, TALL, box.kind)
            for number, words in enumerate(box.lines):
                bold = number == 0 or (box.kind == COPIED and number == 3)
                how = (
                    {"size": SMALL, "family": MONO}
                    if box.kind == HEADER and number in (1, 2)
                    else {"size": SIZE}
                )
                ax.text(
                    left + PAD,
                    top + BAND + PAD + (number + 0.5) * LINE,
                    shortened(words, box.wide - 2 * PAD, bold=bold, **how),
                    va="center_baseline",
                    fontweight="bold" if bold else "normal",
                    color=QUIET if words.startswith("bytes ") else INK,
                    **how,
                )
            left += box.wide
    drawn = {box.kind for row in rows for box in row}
    legend(fig, *(key(kind) for kind in (HEADER, BORROWED, COPIED) if kind in drawn))
    begins = [f"{box.lines[0]}: {box.lines[-1]}" for box in first]
    told = [f"{', '.join(box.lines)}{box.why}" for box in tensors]
    count = f"{len(header.entries):,} tensor{'s' * (len(header.entries) != 1)}"
    opening = f"A safetensors file of {in_words(size, 'bytes')} with {count}, from its first byte"
    alt = ". ".join(
        [opening, f"The length of the header is {len(text.encode()):,}", *begins, *told]
    )
    return picture(
        fig, f"{alt}.", f"{caption} {in_words(size, 'bytes')} in all; boxes not to scale."
    )


def _first(text: str) -> list[Box]:
    """The length, the header's first characters, and the spaces after it, if any."""
    length = len(text.encode())
    spaces = len(text) - len(text.rstrip(" "))
    wide = WIDE - 8 - LENGTH - PADDING * bool(spaces)
    letters = int((wide - 2 * PAD) / width("x", SMALL, family=MONO))
    shown = _plain(text[: 2 * letters + 1].rstrip(" "))
    lines = [
        shown[:letters],
        shown[letters : 2 * letters - 1] + "…" if len(shown) > 2 * letters else shown[letters:],
    ]
    padding = Box(
        ["padding", f"{spaces:,} × space", "", _bytes(8 + length - spaces, 8 + length)],
        HEADER,
        PADDING,
    )
    return [
        Box(["length", f"{length:,}", "", _bytes(0, 8)], HEADER, LENGTH),
        Box(["header", *lines, _bytes(8, 8 + length - spaces)], HEADER, wide),
        *[padding] * bool(spaces),
    ]


def _tensors(entries: list[Entry]) -> list[Box]:
    """A box for each tensor; or for the first eight, and one for all the others."""
    boxes = list(map(_tensor, entries))
    if len(entries) <= DRAWN:
        return boxes
    others = entries[DRAWN - 1 :]
    last = boxes[DRAWN - 1 :]
    copied = sum(box.kind == COPIED for box in last)
    dtypes = ", ".join(dict.fromkeys(entry.dtype for entry in others))
    word = f"{copied:,} {COPIED.word}" if copied else "all borrowed in place"
    lines = [f"and {len(others):,} more", dtypes, _bytes(others[0].begin, others[-1].end), word]
    return [*boxes[: DRAWN - 1], Box(lines, COPIED if copied else BORROWED)]


def _tensor(entry: Entry) -> Box:
    aligned = entry.begin * 8 % max(8, BITS[entry.dtype]) == 0
    kind = EMPTY if entry.begin == entry.end else BORROWED if aligned else COPIED
    lines = [
        _plain(entry.name),
        f"{entry.dtype} {list(entry.shape)}",
        _bytes(entry.begin, entry.end),
        kind.word,
    ]
    return Box(
        lines,
        kind,
        why=f" ({entry.begin:,} isn't a multiple of {BITS[entry.dtype] // 8})" * (kind == COPIED),
    )


def _plain(text: str) -> str:
    """`text` without line breaks, and without letters that the font may lack."""
    return text if text.isprintable() and max(text, default="") < "\u0370" else ascii(text)[1:-1]


def _bytes(begin: int, end: int) -> str:
    return f"bytes {begin:,} to {end:,}"
