"""`copies("frombuffer")`: in a notebook, what calls do to the bytes, run on the reader's
versions.
"""

import ast
import re
from importlib.util import find_spec

from ..measure import NotMeasuredHere
from ..show import Table
from ..teach.source import imported
from ..widgets import progress_bar
from .files import Library, Row, libraries
from .run import Run, run


def copies(words: str = "") -> Table:
    """The calls in whose row all of these words stand, each run here and now: does it copy, or does
    it lend? Without any words, the libraries and the tasks that there are.
    """
    wanted = words.lower().split()
    if not wanted:
        rows = [
            (one.title, f"{len(one.rows)} calls", ", ".join(dict.fromkeys(tasks(one))))
            for one in libraries()
        ]
        return Table('copies("pandas to numpy") shows calls.', ("library", "", "tasks"), rows)
    found = [
        (one, rows)
        for one in libraries()
        if (rows := [row for row in one.rows if _has(one, row, wanted)])
    ]
    bar = progress_bar(found, desc="running calls", unit="library")
    shown = [line for one, rows in bar for line in _lines(one, rows)]
    caption = f"{len(shown)} calls. The page Does it copy? says what their documentation says."
    if not shown:
        caption = "No call has all of these words. copies() lists the libraries and the tasks."
    return Table(caption, ("what", "call", "what it does", "as run with"), shown)


def tasks(library: Library) -> list[str]:
    return [task for row in library.rows for task in row.tasks]


def _has(library: Library, row: Row, words: list[str]) -> bool:
    text = " ".join((library.title, row.title, row.call, row.given, *row.tasks)).lower()
    return all(re.search(rf"(?<!\w){re.escape(word)}", text) for word in words)


def _lines(library: Library, rows: list[Row]) -> list[tuple[str, ...]]:
    try:
        if missing := [name for name in modules(library) if find_spec(name) is None]:
            raise NotMeasuredHere(f"{', '.join(missing)} isn't installed")
        ran = run(library, rows)
    except NotMeasuredHere as error:
        return [(row.title, row.call, row.does, f"not here: {error}") for row in rows]
    return [(row.title, row.call, does(row, ran), versions(ran)) for row in rows]


def modules(library: Library) -> list[str]:
    """What its rows import, in all of them."""
    tree = ast.parse(f"{library.imports}\n{library.in_each}")
    return [name for node in tree.body for name in imported(node)]


def does(row: Row, ran: Run) -> str:
    """What happened, and if that's something else, what the page says."""
    found = ran.found[row.name][0]
    here = found.error or found.verdict(row.by)
    return here if here == row.does else f"{here}; on the page: {row.does}"


def versions(ran: Run) -> str:
    return ", ".join(f"{name} {text}" for name, text in ran.versions.items())
