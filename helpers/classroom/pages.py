"""The look of feedback and of the class report: the handouts' style sheet, and templates that escape everything."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..edition import edition
from ..folders import ROOT
from ..teach import words
from .course import TEMPLATES, Course
from .plain import one_line

HANDOUTS = ROOT / "helpers" / "publish" / "template"  # not imported: loading nbconvert takes seconds

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def page(template: str, title: str, course: Course, **values: object) -> str:
    """A whole page. Only what a template marks `safe` is HTML: pictures, and the results of `line` and `paragraphs`."""
    return _ENVIRONMENT.get_template(template).render(
        style=_style(), title=title, course=course, edition=edition(), **values
    )


def line(markdown: str) -> str:
    """HTML from a line of our Markdown; escapes the output of a student's code in it."""
    return words.inline(one_line(markdown))


def paragraphs(markdown: str) -> str:
    """HTML from several lines: a hint, or the teacher's comment."""
    return words.paragraphs(markdown)


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)


@cache
def _style() -> str:
    return "\n".join(
        sheet.read_text(encoding="utf-8") for sheet in (HANDOUTS / "style.css", TEMPLATES / "classroom.css")
    )
