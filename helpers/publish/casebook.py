"""The casebook's page: ways from what one sees to a case, and the cases with what was recorded of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from nbformat.v4 import new_markdown_cell

from ..casebook import files
from ..casebook.run import as_recorded
from ..measure import Recording
from ..show import curves
from .contents import Section
from .lesson import Lesson, markdown

DRAWN = re.compile(r"\.(peak|left)\b")  # who asserts this can be seen in the curves


def casebook_page(cases: Iterable[files.Case], lessons: Sequence[Lesson]) -> dict[str, Any]:
    families = {
        family: {"ask": entry["ask"], "title": family[:1].upper() + family[1:], "anchor": re.sub(r"\W+", "-", family)}
        for family, entry in files.families().items()
    }
    cases = sorted(cases, key=lambda case: [*families].index(case.see[0]))
    sections = [Section(family["anchor"], family["title"]) for family in families.values()]
    return {
        "title": "Casebook",
        "contents": [*sections, Section("the-cases", "The cases")],
        "families": families,
        "cases": cases,
        "shown": {case.name: _shown(case) for case in cases},
        "finished": {lesson.number: lesson for lesson in lessons},
    }


@cache  # a hundred figures take as long as all other pages
def _shown(case: files.Case) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "sections": {head: markdown(new_markdown_cell(text)) for head, text in case.sections.items()},
        "reports": [(f"<{at}>" if "://" in at else _issue(at), what) for at, what in case.reports.items()],
    }
    if not case.not_run:
        shown |= {"change": case.change, "measured": _measured(case)}
    return shown


def _issue(at: str) -> str:
    return f"[{at}](https://github.com/{at.replace('#', '/issues/')})"


def _measured(case: files.Case) -> str:
    """What both programs did on the machine that recorded them: as curves, or in words."""
    runs = as_recorded(case)
    if any(map(DRAWN.search, case.asserts)):
        return curves(runs, stays=True)._repr_html_()
    said = "; ".join(f"{kind}: {escape(ending(run))}" for kind, run in runs.items())
    return f"<p>Measured: {said.rstrip('.')}.</p>"


def ending(run: Recording) -> str:
    values: Mapping[str, Any] = run.value or {}
    return ", ".join([run.ending, *(f"{name} = {value!r}" for name, value in sorted(values.items()))])
