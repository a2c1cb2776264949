"""The short path: the lessons and the map say what data/short_path.toml says, and each part runs by
itself. The desk sheet says what lesson 10 says.
"""

import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from test_notebook_form import sources

from helpers.folders import NOTEBOOKS, lesson, lessons
from helpers.publish import executed
from helpers.teach.exercises import exercises
from helpers.teach.notebook_files import read
from helpers.teach.short_path import HEADING, Part, optional_minutes, short_path

TEXTS = {
    path.name[:2]: "\n".join(text for _, text in sources(read(path), "markdown"))
    for path in lessons()
}
PARTS = short_path(TEXTS)
each_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.lesson)


def test_the_map_has_the_minutes_of_the_path_and_all_sums_in_hours():
    rows = re.findall(r"\| (\d\d) \|[^|]+\| \d+ \| (\d+) \|", TEXTS["00"])
    assert rows == [(part.lesson, str(part.minutes)) for part in PARTS]
    path = sum(part.minutes for part in PARTS)
    assert 210 <= path <= 260, "about four hours"
    course = sum(map(int, re.findall(r"\| \d\d \|[^|]+\| (\d+) ", TEXTS["00"])))
    curious = optional_minutes()
    assert list(curious) == [one for one, text in TEXTS.items() if "\n## Optional" in text]
    sums = (path, course, sum(curious.values()), sum(one.minutes for one in exercises()))
    assert re.findall(r"(\d+) hour", TEXTS["00"])[:4] == [f"{one / 60:.0f}" for one in sums]


@each_part
def test_a_lesson_names_its_sections_and_says_where_the_path_leaves_them(part: Part):
    text = TEXTS[part.lesson]
    headings = HEADING.findall(text)
    assert {*part.sections} <= {*headings}
    on = {"", *part.sections}
    left = [now for before, now in pairwise(["", *headings]) if before in on and now not in on]
    assert re.findall(r"^## (.+)\n+_On the short path, ", text, re.MULTILINE) == left
    links = " · ".join(f"[{one}](#{one.replace(' ', '-')})" for one in part.sections)
    line = f"**Short path**, {part.minutes} minutes: {links}. The path so far is enough for these."
    assert line in text or not left, f"wanted in the opening: {line}"


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.notebooks
@each_part
def test_a_part_runs_by_itself(part: Part, tmp_path: Path):
    """With the imports, and nothing of the sections between."""
    path = lesson(part.lesson)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for _, cell in part.cells(notebook)]
    nbformat.write(notebook, tmp_path / path.name)
    executed(tmp_path / path.name, tmp_path / "executed")


def test_the_desk_sheet_repeats_lesson_ten():
    sheet = (NOTEBOOKS / "desk_sheet.md").read_text(encoding="utf-8")
    told = r"^(?:\d\. .+?: )?(.*(?:\*\*(?:map|copy|read)\*\*|rename\.|who_holds|kills you).*)$"
    repeated = re.findall(told, sheet, re.MULTILINE)
    assert len(repeated) == 12
    assert [line for line in repeated if line not in TEXTS["10"]] == []
