"""A slider over chunk sizes, and tables of numbers recorded elsewhere."""

import csv
import math
from collections.abc import Mapping

from ...folders import RECORDED
from ...measure import Recording
from ...measure.tables import NONE
from ...show.dial import dial
from ...show.figure import Interactive
from ...show.meters import Table
from ...units import in_words


def sweep(results: Mapping[int, Recording], caption: str = "") -> Interactive:
    """Time, peak anonymous memory and read calls by chunk size in bytes; the slider begins at the
    fastest size.
    """
    named = {in_words(chunk, "bytes"): results[chunk] for chunk in sorted(results)}
    fastest = min(
        named, key=lambda name: math.inf if named[name].wall is None else named[name].wall
    )
    return dial("Chunk size", named, ["wall", "anonymous", "read calls"], caption, fastest)


def recorded_table(name: str, *columns: str) -> Table:
    """A CSV file in `data/recorded/`. Its first line, after "#", says where and how it was
    recorded. `columns` selects and orders the columns; default: all. ValueError for an unknown
    column.
    """
    with open(RECORDED / name, encoding="utf-8", newline="") as file:
        caption = file.readline().removeprefix("#").strip()
        rows = list(csv.DictReader(file))
    header = tuple(rows[0])
    if unknown := [column for column in columns if column not in header]:
        raise ValueError(f"{name} has no column {unknown[0]!r}; there are: {', '.join(header)}")
    chosen = columns or header
    cells = [[row[column] for column in chosen] for row in rows]
    words = [
        tuple(f"{int(cell):,}" if cell.isdigit() else cell or NONE for cell in row) for row in cells
    ]
    return Table(caption, chosen, words)
