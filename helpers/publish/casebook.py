"""The casebook's page: ways from what one sees to a case, and the cases with what was recorded of
them.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain
from typing import Any

from nbformat.v4 import new_markdown_cell

from ..casebook import files
from ..casebook.run import as_recorded, asserted
from ..measure import Comparison
from ..show.curves import stack, thinned
from ..show.figure import KINDS
from ..show.words import ended, left_words, peaks
from ..teach.exercise_files import read_text
from ..units import MiB, in_words
from .contents import Section
from .lesson import Lesson, markdown

DRAWN = re.compile(r"\.(peak|left)\b")  # can be seen in the curves
SEEN = re.compile(r"(peak|left|ended|error)\b")  # … or in how the run ended
POINTS = 20  # of a curve


def casebook_page(cases: Iterable[files.Case], lessons: Sequence[Lesson]) -> dict[str, Any]:
    """What casebook.html.j2 needs. A few cases alone have no minute, whose links lead to all."""
    families = {
        family: {
            "title": family[:1].upper() + family[1:],
            "anchor": re.sub(r"\W+", "-", family),
            "asked": question,
            "placed": {*chain(*files.leaves(question))},
        }
        for family, question in files.families().items()
    }
    cases = sorted(cases, key=lambda case: [*families].index(case.see[0]))
    said = [(text, case) for case in cases for text in case.says]
    return {
        "title": "Casebook",
        "contents": [
            Section("a-minute", "In a minute"),
            *(Section(family["anchor"], family["title"]) for family in families.values()),
            Section("messages", "Messages"),
            Section("the-cases", "The cases"),
        ],
        "minute": _minute() if len(cases) == len(files.folders()) else {},
        "families": families,
        "messages": sorted(said, key=lambda pair: re.sub(r"^\W+", "", pair[0]).casefold()),
        "cases": cases,
        "titles": {case.name: case.title for case in cases},
        "shown": {case.name: _shown(case) for case in cases},
        "finished": {lesson.number: lesson for lesson in lessons},
    }


def _minute() -> dict[str, str]:
    """What cases/minute.md says, by its commands; what stands before them by ""."""
    first, *parts = re.split(r"(?m)^## (.*)\n", read_text(files.CASES / "minute.md"))
    texts = {"": first} | dict(zip(parts[::2], parts[1::2], strict=True))
    return {command: markdown(new_markdown_cell(text)) for command, text in texts.items()}


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
    return f"[{at.partition('/')[2]}](https://github.com/{at.replace('#', '/issues/')})"


def _measured(case: files.Case) -> dict[str, Any]:
    """What both programs did on the machine that recorded them: as `curves`, and in words what
    these don't show.
    """
    runs = as_recorded(case)
    drawn = curves(runs) if any(map(DRAWN.search, case.asserts)) else []
    found = {kind: asserted(case, run) for kind, run in runs.items()}
    broken, cured = found.values()
    apart = [path for path in broken if not SEEN.match(path) and broken[path] != cured.get(path)]
    if drawn and not apart:
        return {"curves": drawn}
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
    return {"curves": drawn, "said": f"Measured: {escape(words).rstrip('.')}."}


def curves(runs: Comparison) -> list[dict[str, Any]]:
    """For each run its name, what it took in words, and samples (seconds, bytes): of each kind of
    memory, on top of those before it. `top` and `longest` are the same for all.
    """
    top = max(MiB, *(int(stack(run).sum(axis=0).max(initial=0)) for run in runs.values()))
    longest = max(run.times.max(initial=0) for run in runs.values())
    drawn = []
    for name, run in runs.items():
        sizes = ", ".join(f"{in_words(size, 'bytes')} {kind}" for size, kind in peaks(run))
        words = "; ".join(filter(None, [f"{sizes} at its peak", left_words(run), ended(run)]))
        times, heights = thinned(run.times, stack(run), POINTS)
        lines = dict(zip(KINDS, heights.cumsum(axis=0).tolist(), strict=False))
        of_all = {"top": top, "longest": longest}
        drawn.append({"name": name, "words": words, "times": times, "lines": lines, **of_all})
    return drawn


def value(path: str, found: Any) -> str:
    return (
        in_words(found, "bytes")
        if path.startswith("io.") and path.endswith("bytes")
        else repr(found)
    )
