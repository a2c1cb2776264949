"""A Rust twin on the page: lines of its source, what it printed, and where those numbers come
from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import RustLexer
from pygments.style import Style
from pygments.token import Comment, Keyword, Name, Number, String

from ..measure.twins import Refusal, Twin
from ..units import in_words
from .meters import Table

SECTION_UNITS = {"size_of": "bytes", "file": "bytes", "drop": "bytes"}
FIGURE_UNITS = {"seconds": "seconds", "allocations": "count"} | dict.fromkeys(
    ("peak heap", "allocated", "live bytes", "peak if old and new counted", "code"), "bytes"
)


class Ink(Style):
    """The handouts' colours for code, each with a contrast of at least 6 to the background."""

    background_color = "#f7f4ed"
    styles = {  # noqa: RUF012 (pygments' own form)
        Comment: "italic #5f594e",
        Comment.Preproc: "#83205b",
        Keyword: "#83205b",
        Name.Attribute: "#83205b",
        Name.Function: "#1f4e86",
        Number: "#8a3b06",
        String: "#1b5e3a",
        String.Doc: "italic #5f594e",
    }


@dataclass(frozen=True)
class Rust:
    """What `rust` returns: a notebook shows the HTML, a terminal the text. `table`: numbers, or a
    message.
    """

    source: str
    table: Table | str | None
    made: str

    def __repr__(self) -> str:
        return "\n".join(str(part) for part in (self.source, self.table, self.made) if part)

    def _repr_html_(self) -> str:
        code = table = ""
        # coloured inline, as a notebook has no style sheet; focusable, so the keyboard can scroll
        # it
        if self.source:
            formatter = HtmlFormatter(nowrap=True, noclasses=True, style=Ink)
            html = highlight(self.source, RustLexer(stripnl=False), formatter)
            ground = f"background:{Ink.background_color};color:#211e1a;padding:.75em .8em"
            code = f'<code style="background:none;color:inherit">{html}</code>'
            code = f'<pre class="code" tabindex="0" style="{ground}">{code}</pre>'
        if isinstance(self.table, Table):
            table = self.table._repr_html_()
        elif self.table:
            table = f'<pre class="output" tabindex="0">{escape(self.table)}</pre>'
        return f'{code}{table}<p style="font-size:smaller">{escape(self.made)}.</p>'


def rust(
    twin: Twin | Refusal, *parts: str, sections: Sequence[str] | None = None, caption: str = ""
) -> Rust:
    """These parts of the twin's source, and a table of what it printed.

    `sections` selects and orders the table's sections; default: all; no table with (). Sections
    with the same figures become rows of one table. For a program that rustc refuses, its message
    takes the table's place. ValueError for an unknown part or section.
    """
    source = "\n".join(map(twin.part, parts))
    if isinstance(twin, Refusal):
        return Rust(source, None if sections == () else twin.message, twin.made)
    chosen = list(twin.figures) if sections is None else list(sections)
    if unknown := [name for name in chosen if name not in twin.figures]:
        raise ValueError(
            f"{twin.name}.rs has no section {unknown[0]!r}; there are: {', '.join(twin.figures)}"
        )
    if not chosen:
        return Rust(source, None, twin.made)
    cells = {
        name: {key: _cell(name, key, value) for key, value in twin.figures[name].items()}
        for name in chosen
    }
    names, *others = [tuple(figures) for figures in cells.values()]
    if not others:
        header = (chosen[0], "value")
        rows = list(cells[chosen[0]].items())
    elif all(other == names for other in others):
        header = ("", *names)
        rows = [(name, *figures.values()) for name, figures in cells.items()]
    else:
        header = ("", "figure", "value")
        rows = [
            (section, name, cell)
            for section, figures in cells.items()
            for name, cell in figures.items()
        ]
    return Rust(source, Table(caption or f"What {twin.name}.rs prints.", header, rows), twin.made)


def _cell(section: str, name: str, value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    if unit := SECTION_UNITS.get(section) or FIGURE_UNITS.get(name):
        return in_words(value, unit)
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
