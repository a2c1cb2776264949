"""The stored form of a notebook: a change to a lesson shows as a readable diff, without noise.

It has no outputs, execution counts, editor's metadata or empty cells. It is JSON with sorted keys,
indented by one space, as Jupyter itself writes it. People name the cells' ids, because links, tests
and claims point at them.

`python -m helpers.publish.tidy notebooks` also copies each exercise's starter into the cell that
asks for it.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat.validator import iter_validate

from ..folders import write_whole
from ..safe_files import regular_file
from ..teach import exercise
from ..teach.exercise_files import checked_in

# A lesson runs on whatever Python its kernel has: no version is stored.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# The ids that nbformat (8 hexadecimal digits) and JupyterLab (a UUID) give to a new cell.
MACHINE_MADE = re.compile(r"[0-9a-f]{8}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NotTidied(ValueError):
    """The notebook has no stored form; its file is as it was."""


def tidy(path: str | os.PathLike, check: bool = False) -> bool:
    """Brings the notebook at `path` into the stored form, or with `check` leaves it alone: was it
    in another? NotTidied if the file isn't a notebook or a cell still has no name; OSError, as
    reading and writing do.
    """
    with regular_file(path) as file:
        before = file.read()
    try:
        after = stored_form(json.loads(before)).encode()
    except ValueError as error:
        what = "" if isinstance(error, NotTidied) else "not JSON in UTF-8, so it is left alone: "
        raise NotTidied(f"{path}: {what}{error}") from error
    if after != before and not check:
        write_whole(path, after)
    return after != before


def stored_form(notebook: Any) -> str:
    """The text to store for a parsed notebook. Raises NotTidied."""
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise NotTidied(
            "not a notebook of format 4; Jupyter's “Save Notebook As…” writes that format"
        )
    # As format 4.4, which had no ids: below, they get a better message.
    for error in iter_validate(notebook, version=4, version_minor=4, relax_add_props=True):
        raise NotTidied(f"not a valid notebook: {str(error).splitlines()[0][:200]}")
    cells = [
        cell
        for cell in notebook["cells"]
        if "".join(cell["source"]).strip() or cell.get("attachments")
    ]
    if complaints := list(_unnamed(cells)):
        raise NotTidied("these cells need another name:\n  " + "\n  ".join(complaints))
    stored = {
        "cells": [_cell(cell) for cell in cells],
        "metadata": METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(stored, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    stored = {key: cell[key] for key in ("id", "cell_type", "attachments") if key in cell}
    stored["source"] = "".join(cell["source"]).splitlines(keepends=True)
    stored["metadata"] = {"tags": cell["metadata"]["tags"]} if cell["metadata"].get("tags") else {}
    if cell["metadata"].get("jupyter", {}).get("source_hidden"):
        stored["metadata"]["jupyter"] = {"source_hidden": True}
    return (
        stored | {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else stored
    )


def _unnamed(cells: Sequence[dict[str, Any]]) -> Iterable[str]:
    """A line for each cell whose id wasn't chosen by a person, or is another cell's."""
    seen: list[Any] = []
    for number, cell in enumerate(cells, 1):
        name = cell.get("id")
        wrong = ""
        if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > 64:
            wrong = "which isn't lower-case words with hyphens, at most 64 letters"
        elif MACHINE_MADE.fullmatch(name):
            wrong = "which a machine made"
        elif name in seen:
            wrong = "like an earlier cell"
        if wrong:
            first = "".join(cell["source"]).strip().splitlines()[0][:50]
            tell = f"cell {number}, which starts {first!r}, has the id {name!r}, {wrong}"
            yield f"{tell}; write an id such as 'copy-mmap-run'"
        seen.append(name)


def renew(lesson: Path) -> list[str]:
    """Brings the cells tagged "exercise" up to date, in place. Returns the keys of the exercises
    that had changed.
    """
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    renewed = []
    for cell in notebook["cells"]:
        if (key := asked(cell)) and "".join(cell["source"]) != exercise(key).cell:
            cell["source"] = exercise(key).cell
            renewed.append(key)
    if renewed:
        write_whole(lesson, stored_form(notebook))
    return renewed


def asked(cell: Mapping[str, Any]) -> str | None:
    """The key of the exercise that a lesson's cell asks for, "02.chunks"; None if it isn't an
    exercise's cell.
    """
    keys = checked_in("".join(cell["source"]))
    return keys[0] if keys and "exercise" in cell["metadata"].get("tags", ()) else None


def main(paths: Sequence[str]) -> int:
    failed = False
    for path in map(Path, paths):
        for file in sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]:
            if ".ipynb_checkpoints" in file.parts:
                continue
            try:
                if tidy(file):
                    print(f"{file}: tidied")
                for key in renew(file):
                    print(f"{file}: the cell of {key} has its starter again")
            except (NotTidied, OSError) as error:
                print(error, file=sys.stderr)
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
