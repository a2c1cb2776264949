"""What is on a page, and the minutes of each section of a lesson."""

import re
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, NavigableString, Tag

WORDS_A_MINUTE = 200
OPENING = ("text", "Opening")  # the anchor and the name of what comes before the first heading
OPTIONAL = "Optional"  # begins the heading of a section that is outside the lesson's minutes


@dataclass
class Section:
    """A heading, and those below it. `minutes` are without the exercises; None: outside the
    lesson's, or not known.
    """

    anchor: str
    title: str
    minutes: int | None = None
    exercises: int = 0
    parts: list["Section"] = field(default_factory=list)
    work: float = 0


def contents(tree: BeautifulSoup, minutes: int = 0) -> list[Section]:
    """The sections of a page. The `minutes` that a lesson states are shared out among its sections
    by their work: one for 200 words, one for a cell, one more for a prediction or a quiz in it.
    Exercises say their own minutes.
    """
    sections = [Section(*OPENING)] if minutes else []
    for cell in tree.select("[data-cell]:not(.teacher, .starter)") or [tree]:
        if "run" in cell.get("class", ()):
            if sections and cell.select_one(":scope > pre.code, :scope > .folded"):
                sections[-1].work += 1 + len(cell.select(".zc-predict, .zc-quiz"))
            for exercise in cell.select(".zc-exercise"):
                sections[-1].exercises += int(re.search(r"· (\d+) minutes", exercise.get_text())[1])
            continue
        for node in cell.descendants:
            if isinstance(node, Tag) and node.name in ("h2", "h3") and node.get("id"):
                above = sections[-1].parts if node.name == "h3" and sections else sections
                above.append(Section(node["id"], node.get_text().strip()))
            elif isinstance(node, NavigableString) and sections:
                sections[-1].work += len(node.split()) / WORDS_A_MINUTE
    if minutes:
        _share(minutes, [section for section in sections if not section.title.startswith(OPTIONAL)])
    return sections


def _share(minutes: int, sections: list[Section]) -> None:
    """Whole minutes for each section, which add up: each ends at the nearest minute to where its
    work ends.
    """
    total = sum(section.work for section in sections)
    worked = 0.0
    spent = 0
    for section in sections:
        worked += section.work
        section.minutes = round(minutes * worked / total) - spent
        spent += section.minutes
