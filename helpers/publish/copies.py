"""The page *Does it copy?*: each call, what happens to the bytes, what was measured, and what is
said.
"""

from collections.abc import Sequence
from typing import Any

from ..copies.files import Library, Row
from ..copies.kept import kept
from ..copies.run import Found, Run
from ..copies.shown import versions
from .contents import Section


def copies_page(known: Sequence[Library]) -> dict[str, Any]:
    runs = {library.name: kept(library) for library in known}
    rows = [row for library in known for row in library.rows]
    tasks: dict[str, list[Row]] = {}
    for row in rows:
        for task in row.tasks:
            tasks.setdefault(task, []).append(row)
    return {
        "title": "Does it copy?",
        "contents": [
            Section("differs", "Where word and run differ"),
            Section("tasks", "By what you want to do"),
            *(Section(library.name, library.title) for library in known),
        ],
        "libraries": known,
        "titles": {library.name: library.title for library in known},
        "count": len(rows),
        "differing": [row for row in rows if row.differs],
        "tasks": tasks,
        "runs": {name: [*map(versions, of)] for name, of in runs.items()},
        "measured": {library.name: _measured(library, runs[library.name]) for library in known},
    }


def _measured(library: Library, runs: Sequence[Run]) -> dict[str, list[str]]:
    """By row what was measured: a line for all versions, or one for each that differ."""
    found = {row.name: [_seen(row, ran) for ran in runs] for row in library.rows}
    return {
        name: lines[:1]
        if len(set(lines)) == 1
        else [f"with {versions(ran)}, {line}" for ran, line in zip(runs, lines, strict=True)]
        for name, lines in found.items()
    }


def _seen(row: Row, ran: Run) -> str:
    """What was measured of the call, and of its control."""
    call, control = ran.found[row.name]
    return f"{_told(row, call)}; `{row.control}`: {_told(row, control)}"


def _told(row: Row, found: Found) -> str:
    if found.error:
        return found.error
    if row.by == "address":
        if found.shared is None:
            return "it has no address"
        return f"{found.shared:.0%} of its bytes lie in those of `{row.source}`"
    return f"memory of {found.took:.2f} times the data appeared"
