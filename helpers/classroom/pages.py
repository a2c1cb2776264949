"""The look of feedback and of the class report: the handouts' style sheet, and templates that escape everything."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..edition import edition
from ..folders import ROOT
from ..teach import words
from .course import TEMPLATES, Course
from .plain import number, one_line

HANDOUTS = ROOT / "helpers" / "publish" / "template"  # not imported: loading nbconvert takes seconds

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


# HTML from a line of our Markdown, in which the output of a student's code is escaped; and from several lines of it.
_ENVIRONMENT.filters |= {"line": lambda text: words.inline(one_line(text)), "paragraphs": words.paragraphs}
_ENVIRONMENT.filters |= {"number": number, "one_line": one_line}


def page(template: str, heading: str, course: Course, **values: object) -> str:
    """A whole page. Only what a template marks `safe` is HTML, and what comes from `line` and `paragraphs`."""
    return _ENVIRONMENT.get_template(template).render(
        style=_style(), heading=heading, course=course, edition=edition(), **values
    )


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)


@cache
def _style() -> str:
    return "\n".join(
        sheet.read_text(encoding="utf-8") for sheet in (HANDOUTS / "style.css", TEMPLATES / "classroom.css")
    )
