"""The look of feedback and of the class report: the handouts' style sheet, and templates in which all is escaped."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..edition import edition
from ..folders import ROOT
from ..teach import words
from .course import TEMPLATES, Course
from .plain import one_line

HANDOUTS = ROOT / "helpers" / "publish" / "template"  # not imported: publish needs seconds to load all of nbconvert

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def page(template: str, title: str, course: Course, **values: object) -> str:
    """A whole page. Only what a template calls `safe` is HTML: pictures, and what `line` and `paragraphs` make."""
    return _ENVIRONMENT.get_template(template).render(
        style=_style(), title=title, course=course, edition=edition(), **values
    )


def line(markdown: str) -> str:
    """HTML of a line of our Markdown, which may hold what a student's code has said: that is escaped."""
    return words.inline(one_line(markdown))


def paragraphs(markdown: str) -> str:
    """HTML of several lines: a hint, or what the teacher says."""
    return words.paragraphs(markdown)


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)


@cache
def _style() -> str:
    return "\n".join(
        sheet.read_text(encoding="utf-8") for sheet in (HANDOUTS / "style.css", TEMPLATES / "classroom.css")
    )
