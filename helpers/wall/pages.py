"""Pages and texts from templates that escape everything."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..teach.words import inline, one_line, paragraphs, units_kept

TEMPLATES = Path(__file__).parent / "template"


def environment(folder: Path) -> Environment:
    """The templates in a folder. `line` and `paragraphs` make HTML from our Markdown, in which the
    output of a student's code is escaped.
    """
    templates = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["line"] = lambda text: inline(units_kept(one_line(text)))
    templates.filters["paragraphs"] = paragraphs
    return templates


_ENVIRONMENT = environment(TEMPLATES)


def filled(template: str, **values: object) -> str:
    """A page from a template with these values."""
    return _ENVIRONMENT.get_template(template).render(**values)


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)
