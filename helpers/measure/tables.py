"""A table twice: as accessible HTML, and as plain text for a terminal."""

from collections.abc import Sequence
from html import escape


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption, column headers, and the first cell of each row as its header."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<table class="zc-table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same in a terminal: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [(header[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(header[1:], widths[1:], strict=True)))]
    lines += [
        (row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))) for row in rows
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)
