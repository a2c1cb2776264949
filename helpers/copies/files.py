"""Reads data/copies/: a file for each library, a row for each call. data/copies/README.md describes
the form.

A file that breaks it raises Malformed, which names the file, the row and what would be right.
"""

import tomllib
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..folders import DATA
from ..teach.exercise_files import read_text, refuse

FOLDER = DATA / "copies"
LENDS, COPIES = "lends", "copies"
INSTRUMENTS = ("address", "memory")
MOST_WORDS = 25  # of a quotation


@dataclass(frozen=True)
class Row:
    """One call in one condition, and what happens to the bytes.

    given    statements before the call; SIZE is 16 MiB, N as many float64, and the folder is empty
    call     an expression, whose value is the result
    source   an expression: whose bytes the result shows, if it lends them
    does     "lends" or "copies"
    by       what tells it: the result's address, or memory that appeared
    control  an expression that does the opposite, for the same instrument
    tasks    what somebody wants to do with it
    says, at, of   what is said, where, and of which version; `said`: what that makes one expect
    note     what else there is to know
    """

    library: str
    name: str
    title: str
    call: str
    does: str
    control: str
    tasks: list[str]
    given: str = "a = np.ones(N)"
    source: str = "a"
    by: str = "address"
    says: str = ""
    at: str = ""
    of: str = ""
    said: str = ""
    note: str = ""

    @property
    def differs(self) -> bool:
        """Does what is said make one expect something else than what happens?"""
        return self.said not in ("", self.does)


@dataclass(frozen=True)
class Library:
    """The rows of one file. `imports`: statements before all rows; `in_each`: in the fork of each,
    for a library whose threads don't survive one; `versions`: names of the distributions whose
    versions the answers depend on.
    """

    name: str
    title: str
    imports: str
    versions: list[str]
    rows: list[Row]
    in_each: str = ""


@cache
def libraries(folder: Path = FOLDER) -> list[Library]:
    return [*map(read, sorted(folder.glob("*.toml")))]


def read(path: Path) -> Library:
    try:
        known = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        refuse(path, 0, f"not TOML: {error}")
    head = {key: value for key, value in known.items() if not isinstance(value, dict)}
    wanted = {field.name for field in fields(Library)} - {"name", "rows", "in_each"}
    if head.keys() - {"in_each"} != wanted:
        refuse(path, 0, f"wanted at its beginning: {', '.join(sorted(wanted))}; not {[*head]}")
    rows = [_row(path, name, front) for name, front in known.items() if isinstance(front, dict)]
    return Library(path.stem, rows=rows, **head)


def _row(path: Path, name: str, front: dict[str, Any]) -> Row:
    keys = {field.name: field for field in fields(Row)[2:]}
    for key, value in front.items():
        if key not in keys:
            refuse(path, 0, f"{name}: no key {key!r}; there are {', '.join(keys)}")
        if not isinstance(value, list if key == "tasks" else str) or not value:
            refuse(path, 0, f"{name}: {key} isn't as data/copies/README.md has it: {value!r}")
    if missing := [key for key, one in keys.items() if one.default is MISSING and key not in front]:
        refuse(path, 0, f"{name}: without {', '.join(missing)}")
    row = Row(path.stem, name, **front)
    choices = {"does": (LENDS, COPIES), "by": INSTRUMENTS, "said": ("", LENDS, COPIES)}
    for key, values in choices.items():
        if getattr(row, key) not in values:
            refuse(path, 0, f"{name}: {key} is one of {', '.join(values)}")
    if bool(row.says) != bool(row.at and row.of):
        refuse(path, 0, f"{name}: a quotation has `says`, `at` and `of`, or none of them")
    if len(row.says.split()) > MOST_WORDS:
        refuse(path, 0, f"{name}: `says` has at most {MOST_WORDS} words")
    return row
