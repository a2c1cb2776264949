"""`python -m helpers.publish.starters`: copy each exercise's starter into the notebook's cell that asks for it."""

import json
import re
from pathlib import Path

from ..folders import lessons, write_whole
from ..teach import exercise
from .tidy import stored_form


def renew(lesson: Path) -> list[str]:
    """Brings the cells tagged "exercise" up to date, in place; the keys of those that were not."""
    notebook, renewed = json.loads(lesson.read_text(encoding="utf-8")), []
    for cell in notebook["cells"]:
        asked = re.search(r'exercise\("([^"]+)"\)\.check\(', "".join(cell["source"]))
        if asked and "exercise" in cell["metadata"].get("tags", ()):
            wanted = exercise(asked[1]).cell
            if "".join(cell["source"]) != wanted:
                cell["source"] = wanted
                renewed.append(asked[1])
    if renewed:
        write_whole(lesson, stored_form(notebook))
    return renewed


if __name__ == "__main__":
    for lesson in lessons():
        for key in renew(lesson):
            print(f"{lesson.name}: the cell of {key} is its starter again")
