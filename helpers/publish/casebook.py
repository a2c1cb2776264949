"""The casebook's page: ways from what one sees to a case, and the cases with what was recorded of
them.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

from nbformat.v4 import new_markdown_cell

from ..casebook import files
from ..casebook.run import as_recorded, asserted
from ..show import curves
from ..units import in_words
from .contents import Section
from .lesson import Lesson, markdown

DRAWN = re.compile(r"\.(peak|left)\b")  # can be seen in the curves
SEEN = re.compile(r"(peak|left|ended|error)\b")  # … or in how the run ended


def casebook_page(cases: Iterable[files.Case], lessons: Sequence[Lesson]) -> dict[str, Any]:
    families = {
        family: {
            "ask": entry["ask"],
            "title": family[:1].upper() + family[1:],
            "anchor": re.sub(r"\W+", "-", family),
        }
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
        "sections": {
            head: markdown(new_markdown_cell(text)) for head, text in case.sections.items()
        },
        "reports": [
            (f"<{at}>" if "://" in at else _issue(at), what) for at, what in case.reports.items()
        ],
    }
    if not case.not_run:
        shown |= {"change": case.change, "measured": _measured(case)}
    return shown


def _issue(at: str) -> str:
    return f"[{at}](https://github.com/{at.replace('#', '/issues/')})"


def _measured(case: files.Case) -> str:
    """What both programs did on the machine that recorded them: as curves, and in words what these
    don't show.
    """
    runs = as_recorded(case)
    drawn = curves(runs, stays=True)._repr_html_() if any(map(DRAWN.search, case.asserts)) else ""
    found = {kind: asserted(case, run) for kind, run in runs.items()}
    broken, cured = found.values()
    apart = [path for path in broken if not SEEN.match(path) and broken[path] != cured.get(path)]
    if drawn and not apart:
        return drawn
    said = {
        kind: ", ".join(
            [
                runs[kind].ending,
                *(f"{path} = {value(path, of[path])}" for path in apart if path in of),
            ]
        )
        for kind, of in found.items()
    }
    words = "; ".join(f"{kind}: {text}" for kind, text in said.items())
    return f"{drawn}<p>Measured: {escape(words).rstrip('.')}.</p>"


def value(path: str, found: Any) -> str:
    return (
        in_words(found, "bytes")
        if path.startswith("io.") and path.endswith("bytes")
        else repr(found)
    )
