"""A table two ways: as accessible HTML, and as text for a terminal. Figures align right, text
aligns left.
"""

import re
from collections.abc import Sequence
from html import escape

from ..units import NOT_MEASURED

NONE = "–"  # there can be no such figure
Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]  # a header and rows of text
Count = int | None  # None: not measured here
# as wide as its text asks, however narrow the table
CAPTION = "text-align:left;width:max-content;max-width:min(34em,75vw)"


class Tabled:
    """Shows its `table()`, which gives Rows: in a terminal, and under its `title`
    in a notebook.
    """

    title = ""

    def __repr__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        return html_table(self.title, *self.table())


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption, column headers, and the first cell of each row as its header."""
    sides = [
        f' style="text-align: {"right" if figures else "left"}"'
        for figures in _figures(header, rows)
    ]
    head = "".join(
        f'<th scope="col"{side}>{escape(cell)}</th>'
        if cell
        else "<td></td>"  # an empty header isn't a header
        for cell, side in zip(header, sides, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{sides[0]}>{_marked(first)}</th>'
        + "".join(
            f"<td{side}>{_kept(cell)}</td>" for cell, side in zip(rest, sides[1:], strict=True)
        )
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<table class="zc-table"><caption style="{CAPTION}">{_marked(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _kept(cell: str) -> str:
    """A cell, whose figure at its beginning stays in a line with its unit."""
    return _marked(cell).replace(" ", "&nbsp;", cell[:1].isdigit())


def _marked(text: str) -> str:
    """Escaped, with `code` as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    adjust = [str.rjust if figures else str.ljust for figures in _figures(header, rows)]
    return "\n".join(
        "  ".join(
            to(cell, width) for to, cell, width in zip(adjust, line, widths, strict=True)
        ).rstrip()
        for line in (header, *rows)
    )


def _figures(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    columns = enumerate(zip(header, *rows, strict=True))
    return [
        i > 0 and all(c.lstrip("-")[:1].isdigit() or c in (NOT_MEASURED, NONE) for c in column)
        for i, (_, *column) in columns
    ]
