"""Tables of numbers recorded elsewhere, labelled as such."""

import csv

from ...folders import RECORDED
from ...measure.tables import NONE
from ...show.meters import Table


def recorded_table(name: str, *columns: str) -> Table:
    """A CSV file in `data/recorded/`. Its first line, after "#", says where and how it was recorded.

    `columns` selects and orders the columns; default: all. ValueError for an unknown column.
    """
    with open(RECORDED / name, encoding="utf-8", newline="") as file:
        caption = file.readline().removeprefix("#").strip()
        rows = list(csv.DictReader(file))
    header = tuple(rows[0])
    if unknown := [column for column in columns if column not in header]:
        raise ValueError(f"{name} has no column {unknown[0]!r}; there are: {', '.join(header)}")
    chosen = columns or header
    return Table(caption, chosen, [tuple(_in_words(row[column]) for column in chosen) for row in rows])


def _in_words(cell: str) -> str:
    return f"{int(cell):,}" if cell.isdigit() else cell or NONE
