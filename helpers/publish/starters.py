"""`python -m helpers.publish.starters` copies each exercise's starter into the notebook's cell that asks for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..folders import lessons, write_whole
from ..teach import exercise
from ..teach.exercise_files import checked_in
from .tidy import stored_form


def renew(lesson: Path) -> list[str]:
    """Brings the cells tagged "exercise" up to date, in place. Returns the keys of the exercises that had changed."""
    notebook, renewed = json.loads(lesson.read_text(encoding="utf-8")), []
    for cell in notebook["cells"]:
        if (key := asked(cell)) and "".join(cell["source"]) != exercise(key).cell:
            cell["source"] = exercise(key).cell
            renewed.append(key)
    if renewed:
        write_whole(lesson, stored_form(notebook))
    return renewed


def asked(cell: Mapping[str, Any]) -> str | None:
    """The key of the exercise that a lesson's cell asks for, "02.chunks"; None if it isn't an exercise's cell."""
    keys = checked_in("".join(cell["source"]))
    return keys[0] if keys and "exercise" in cell["metadata"].get("tags", ()) else None


if __name__ == "__main__":
    for lesson in lessons():
        for key in renew(lesson):
            print(f"{lesson.name}: the cell of {key} has its starter again")
