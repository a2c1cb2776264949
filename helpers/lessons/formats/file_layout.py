"""What's where in a safetensors file: the length, the header, its padding, then one tensor after
another.
"""

import os

from ...ideas.safetensors import Entry, SafetensorsError, read_header
from ...ideas.tensor_header import BITS, LONGEST, Buffer
from ...show.boxes import Box
from ...show.chart import Row, layout
from ...show.figure import ABSENT, ANONYMOUS, FILE, Kind, Picture, key, look, picture
from ...show.text import BOLD, FAINT, MONO, PLAIN, Line
from ...units import in_words

DRAWN, EACH = 9, 3  # boxes for tensors, the last of them perhaps "and 28 more"; boxes side by side
LETTERS = 150  # of the header
JSON = {"family": MONO, "fontsize": 7.5}
HEADER = ABSENT._replace(word="length and header")
BORROWED = FILE._replace(word="borrowed in place")
COPIED = ANONYMOUS._replace(word="misaligned: copied")
EMPTY = ABSENT._replace(word="no bytes")


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
    rows = [_first(text)]
    boxes = _tensors(list(header.entries.values()))
    for start in range(0, len(boxes), EACH):
        line = boxes[start : start + EACH]
        rows.append(Row("", [box for box, _ in line for _ in (0, 1)], [w for _, w in line]))
    drawn = [cell.kind for row in rows for cell in row.cells]
    keys = [key(kind) for kind in (HEADER, BORROWED, COPIED) if kind in drawn]
    count = f"{len(header.entries):,} tensor{'s' * (len(header.entries) != 1)}"
    words = [f"A safetensors file of {in_words(size, 'bytes')} with {count}, from its first byte"]
    words += [word for row in rows for word in row.words]
    caption = f"{caption} {in_words(size, 'bytes')} in all; boxes not to scale."
    return picture(layout(rows, keys=keys, gap=0), f"{'. '.join(words)}.", caption, rows)


def _first(text: str) -> Row:
    """The length, the header's first characters, and the spaces after it, if any."""
    length = len(text.encode())
    spaces = len(text) - len(text.rstrip(" "))
    begins = _plain(text[:LETTERS].rstrip(" ")) + "…" * (len(text) - spaces > LETTERS)
    places = _bytes(0, 8), _bytes(8, 8 + length - spaces), _bytes(8 + length - spaces, 8 + length)
    first = _box(HEADER, "length", f"{length:,}", places[0])
    header = Box([("header", BOLD), (begins, JSON), (places[1], FAINT)], HEADER)
    words = [f"The length of the header is {length:,}", f"length: {places[0]}"]
    words.append(f"header: {places[1]}")
    if not spaces:
        return Row("", [first, *[header] * 5], words)
    padding = _box(HEADER, "padding", f"{spaces:,} × space", places[2])
    return Row("", [first, *[header] * 4, padding], [*words, f"padding: {places[2]}"])


def _box(kind: Kind, name: str, what: str, place: str, *more: Line) -> Box:
    return Box([(name, BOLD), (what, PLAIN), (place, FAINT), *more], kind)


def _tensors(entries: list[Entry]) -> list[tuple[Box, str]]:
    """A box for each tensor, and its words; or for the first eight, and one for all the others."""
    if len(entries) <= DRAWN:
        return list(map(_tensor, entries))
    others = entries[DRAWN - 1 :]
    copied = sum(_kind(entry) == COPIED for entry in others)
    dtypes = ", ".join(dict.fromkeys(entry.dtype for entry in others))
    word = f"{copied:,} {COPIED.word}" if copied else "all borrowed in place"
    lines = [f"and {len(others):,} more", dtypes, _bytes(others[0].begin, others[-1].end)]
    look = BOLD if copied else PLAIN
    box = _box(COPIED if copied else BORROWED, *lines, (word, look))
    return [*map(_tensor, entries[: DRAWN - 1]), (box, ", ".join([*lines, word]))]


def _tensor(entry: Entry) -> tuple[Box, str]:
    kind = _kind(entry)
    lines = [_plain(entry.name), f"{entry.dtype} {list(entry.shape)}"]
    lines.append(_bytes(entry.begin, entry.end))
    why = f" ({entry.begin:,} isn't a multiple of {BITS[entry.dtype] // 8})"
    box = _box(kind, *lines, (kind.word, BOLD if kind == COPIED else PLAIN))
    return box, f"{', '.join([*lines, kind.word])}{why * (kind == COPIED)}"


def _kind(entry: Entry) -> Kind:
    if entry.begin == entry.end:
        return EMPTY
    return BORROWED if entry.begin * 8 % max(8, BITS[entry.dtype]) == 0 else COPIED


def _plain(text: str) -> str:
    """`text` without line breaks, and without letters that the font may lack."""
    return text if text.isprintable() and max(text, default="") < "\u0370" else ascii(text)[1:-1]


def _bytes(begin: int, end: int) -> str:
    return f"bytes {begin:,} to {end:,}"
