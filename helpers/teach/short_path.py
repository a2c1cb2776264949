"""The short path through the course: which sections of which lessons are on it, and for how long.
The table is data/short_path.toml.
"""

import re
import tomllib
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..folders import DATA
from .notebook_files import Notebook

PATH = DATA / "short_path.toml"
HEADING = re.compile("^## (.+)", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """What of a lesson is on the path: these sections, and what stands before the first one.
    `minutes` are without the exercises.
    """

    lesson: str
    sections: list[str]
    minutes: int

    def cells(self, notebook: Notebook) -> Iterator[tuple[str, dict[str, Any]]]:
        """The code cells on the path, each with the heading that it stands under: "" for the
        imports.
        """
        heading = ""
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                heading = [heading, *HEADING.findall("".join(cell["source"]))][-1]
            elif heading in ("", *self.sections):
                yield heading, cell


def short_path(lessons: Container[str], table: Path = PATH) -> list[Part]:
    """Its parts, in order, if all are of these lessons ("02"). Otherwise [], as for a class that
    takes only a few lessons.
    """
    parts = [Part(**part) for part in tomllib.loads(table.read_text(encoding="utf-8"))["part"]]
    return parts if all(part.lesson in lessons for part in parts) else []


def hours(parts: Iterable[Part]) -> int:
    """How long these take, to the nearest hour."""
    return round(sum(part.minutes for part in parts) / 60)


def optional_minutes(table: Path = PATH) -> dict[str, int]:
    """The minutes of what is for the curious, by the lesson's number."""
    return tomllib.loads(table.read_text(encoding="utf-8"))["optional"]
