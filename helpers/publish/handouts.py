"""The handouts: executed lessons as self-contained pages, with an index, the claims and a glossary.

Each edition is a folder that you can hand out by itself: for students, worksheets, for instructors.
Every page is one file: nothing loaded, no script but our own. Anything that would spoil a page for
a reader stops the build, and the error names it: a figure without alternative text, a widget
without a picture, a dead link, a folder of this machine, …
"""

import os
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup, NavigableString, Tag
from nbformat.v4 import new_markdown_cell

from ..casebook.files import Case, book
from ..copies.files import Library, libraries
from ..edition import CLASS_EDITION
from ..edition import edition as released
from ..folders import BUILD, GLOSSARY, NOTEBOOKS, ROOT, generated
from ..safe_files import write_folder
from ..teach import Exercise
from ..teach.claims import CLAIMS, VERDICTS, Known
from ..teach.claims import claims as claims_of
from ..teach.short_path import hours, optional_minutes, short_path
from ..widgets import progress_bar
from .casebook import casebook_page
from .contents import Section, contents
from .copies import copies_page
from .lesson import (
    SCRIPTS,
    HandoutError,
    Lesson,
    body,
    box_tables,
    filled,
    markdown,
    output_problems,
    read,
)
from .search import search_page
from .worksheet import items

RUST = NOTEBOOKS / "rust" / "README.md"
OWN_CODE = NOTEBOOKS / "own_code" / "measure_your_own_code.ipynb"
DESK_SHEET = NOTEBOOKS / "desk_sheet.md"
APPENDICES = {
    "rust/README.md": "rust.html",
    f"own_code/{OWN_CODE.name}": f"{OWN_CODE.stem}.html",
    DESK_SHEET.name: f"{DESK_SHEET.stem}.html",
}
NEWS = ROOT / "CHANGELOG.md"
LABELS = {"student": "Student edition", "instructor": "Instructor edition"}

_LOADS = ("src", "srcset", "poster", "data", "xlink:href")
_LOADING_STYLE = re.compile(r"@import|url\(\s*['\"]?(?!data:|['\"]?#)")
_RUNS = re.compile(r"\s*javascript:", re.I)
_FILLER = re.compile(
    r"no description has been provided|^(image|figure|plot|picture|png|chart)\W*\d*$", re.I
)
_UNLINKED = (
    "a, code, pre, summary, caption, figcaption, th, svg, h1, h2, h3, h4, h5, h6, .teacher,"
    " .solution, .answers"
)


@dataclass(frozen=True)
class Term:
    name: str
    means: str
    also: Sequence[str] = ()
    everyday: bool = False  # it has another meaning too

    @property
    def anchor(self) -> str:
        return re.sub(r"\W+", "-", self.name.lower())


def handouts(
    notebooks: Iterable[Path],
    folder: Path = BUILD / "handouts",
    *,
    exercise: Callable[[str], Exercise],
    own_code: Path = OWN_CODE,
    claims: Path = CLAIMS,
    cases: Iterable[Case] = (),
    calls: Sequence[Library] = (),
) -> list[Path]:
    """Writes the handouts of these executed lessons into `folder`, which is replaced as a whole, or
    not at all. `own_code` is the page "Measure your own code", executed too; without `cases`, the
    whole casebook goes with them, and without `calls`, those of all libraries. Raises HandoutError
    with a list of all problems.
    """
    lessons = [read(path) for path in notebooks]
    own = nbformat.read(own_code, as_version=4)
    own = Lesson(own_code.stem, own.cells[0].source.partition("\n")[0].removeprefix("# "), own)
    if problems := [problem for lesson in (*lessons, own) for problem in output_problems(lesson)]:
        raise HandoutError("\n".join(problems))  # the checks below could only repeat them
    terms = read_terms()
    measured = body(own, "student", exercise)
    entries = [Section(term.anchor, term.name) for term in terms]
    common = {
        "claims.html": _claims_page(claims, lessons),
        "casebook.html": (casebook := casebook_page(cases or book(), lessons)),
        "does_it_copy.html": copies_page(calls or libraries()),
        "glossary.html": {"title": "Glossary", "terms": terms, "contents": entries},
        "rust.html": _text_page(RUST, terms),
        "desk_sheet.html": _text_page(DESK_SHEET, terms),
        own.page: {
            "title": own.title,
            "contents": contents(measured),
            "body": _linked(measured, lessons, terms),
        },
    }
    pages, sections = {}, {}
    for edition in LABELS:
        if edition == "instructor" and CLASS_EDITION.exists():
            continue  # an edition for a class has nothing for instructors
        seal = {"edition": edition, "label": LABELS[edition], "released": str(released())}
        bar = progress_bar(lessons, desc=f"writing: {LABELS[edition]}", unit="lesson")
        for before, lesson, after in zip([None, *lessons], bar, [*lessons[1:], None], strict=False):
            values = {
                "page": lesson.page,
                "lesson": lesson,
                "previous": before,
                "next": after,
                **seal,
            }
            values |= {
                "title": f"{lesson.number} {lesson.title}",
                "running": f"{lesson.number}  {lesson.title}",
            }
            tree = body(lesson, edition, exercise)
            sections[lesson.page] = values["contents"] = contents(tree, lesson.minutes)
            values["exercises"] = sum(section.exercises for section in sections[lesson.page])
            values["cases"] = [case for case in casebook["cases"] if lesson.number in case.lessons]
            values["body"] = _linked(tree, lessons, terms)
            pages[f"{edition}/{lesson.page}"] = filled("lesson.html.j2", **values)
        index = {"index.html": _index(lessons, sections)}
        for name, values in (common | index).items():
            template = "appendix.html.j2" if name in APPENDICES.values() else f"{name}.j2"
            pages[f"{edition}/{name}"] = filled(template, page=name, **seal, **values)
        found = search_page(pages, edition)
        pages[f"{edition}/search.html"] = filled(
            "search.html.j2", page="search.html", **seal, **found
        )
    pages |= _worksheets(lessons, exercise)
    if problems := page_problems(pages):
        raise HandoutError("\n".join(problems))
    write_folder(folder, {name: html.encode() for name, html in pages.items()})
    return [folder / name for name in sorted(pages)]


def _text_page(path: Path, terms: Sequence[Term]) -> dict[str, Any]:
    """What the page of this Markdown file says."""
    tree = BeautifulSoup(
        markdown(new_markdown_cell(path.read_text(encoding="utf-8"))), "html.parser"
    )
    title = tree.find("h1").extract().get_text()
    box_tables(tree)
    return {"title": title, "contents": contents(tree), "body": _linked(tree, (), terms)}


def _worksheets(lessons: Sequence[Lesson], exercise: Callable[[str], Exercise]) -> dict[str, str]:
    """The worksheets with a page that lists them, and the sheets of answers among the pages for
    instructors.
    """
    seal = {"released": str(released())}
    pages = {
        "worksheet/index.html": filled(
            "worksheets.html.j2", title="Worksheets", lessons=lessons, **seal
        )
    }
    for lesson in progress_bar(lessons, desc="writing: Worksheets", unit="lesson"):
        values = seal | {
            "title": f"{lesson.number} {lesson.title}",
            "lesson": lesson,
            "items": items(lesson, exercise),
        }
        pages[f"worksheet/{lesson.page}"] = filled("worksheet.html.j2", label="Worksheet", **values)
        if not CLASS_EDITION.exists():
            pages[f"instructor/{lesson.name}_answers.html"] = filled(
                "worksheet.html.j2", label="Answers", **values
            )
    return pages


def read_terms(path: Path = GLOSSARY) -> list[Term]:
    """The glossary, in alphabetical order."""
    terms = (
        Term(name, **entry)
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items()
    )
    return sorted(terms, key=lambda term: term.name.lower())


def link_terms(tree: BeautifulSoup, terms: Sequence[Term]) -> None:
    """Links the first use of each term in the prose to its entry; the longest term that fits.
    Everyday words are linked where they're introduced as terms, in bold type. Teachers' notes stay:
    all editions have the same links.
    """
    by_spelling = {spelling.lower(): term for term in terms for spelling in (term.name, *term.also)}
    longest_first = sorted(by_spelling, key=len, reverse=True)
    words = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(s?)(?![\w-])", re.I)
    linked: set[str] = set()
    for text in tree.find_all(string=words):
        if type(text) is not NavigableString or text.parent.css.closest(_UNLINKED):
            continue
        pieces, end = [], 0
        for match in words.finditer(text):
            term = by_spelling[match[1].lower()]
            if term.name in linked or (term.everyday and text.parent.name != "strong"):
                continue
            linked.add(term.name)
            link = tree.new_tag(
                "a", href=f"glossary.html#{term.anchor}", attrs={"class": "term"}, title=term.means
            )
            link.string = match[0]
            pieces += [NavigableString(text[end : match.start()]), link]
            end = match.end()
        if pieces:
            text.replace_with(*pieces, NavigableString(text[end:]))


def page_problems(pages: Mapping[str, str]) -> list[str]:
    """What would spoil these pages ({"student/index.html": HTML}) for a reader: a line for each
    problem.
    """
    bar = progress_bar(pages.items(), desc="checking the pages", unit="page")
    trees = {name: BeautifulSoup(html, "html.parser") for name, html in bar}
    anchors = {name: [tag["id"] for tag in tree.find_all(id=True)] for name, tree in trees.items()}
    problems = []
    for name, tree in trees.items():
        for tag, problem in (*_own_problems(tree), *_dead_links(tree, name, anchors)):
            cell = tag.find_parent(attrs={"data-cell": True})
            problems.append(f"{name}{', cell ' + cell['data-cell'] if cell else ''}: {problem}")
    return list(dict.fromkeys(problems))


def _own_problems(tree: BeautifulSoup) -> Iterator[tuple[Any, str]]:
    """What spoils a page by itself, and the tag or the text that does."""
    home = os.path.expanduser("~")
    ids = set()
    folders = {str(ROOT), str(generated()), home, os.path.realpath(home)} - {"/", "/tmp", "~"}
    of_this_machine = re.compile(
        rf"({'|'.join(map(re.escape, sorted(folders, reverse=True)))})(?![\w-])"
    )
    for tag in tree.find_all(True):
        if (name := tag.get("id")) in ids:
            yield tag, f"id={name!r} is there already; give its heading other words"
        ids |= {name} if name else set()
        alt = (tag.get("alt") or "").strip()
        if tag.name == "img" and (not alt or _FILLER.search(alt)):
            yield (
                tag,
                (
                    f"image with no real alternative text ({alt!r}); say what it shows, with its "
                    "figures"
                ),
            )
        if _foreign_script(tag):
            yield tag, "a script; show something that needs none"
        loads = (*_LOADS, "href") if tag.name not in ("a", "area") else _LOADS
        source = next((tag[name] for name in loads if tag.get(name)), "")
        style = tag.get_text() if tag.name == "style" else tag.get("style", "")
        if (source and not source.startswith(("data:", "#"))) or _LOADING_STYLE.search(style):
            yield (
                tag,
                f"<{tag.name}> loads {source or 'from its style'}; put it into the page (data:)",
            )
    for part in tree.descendants:
        words = " ".join(map(str, part.attrs.values())) if isinstance(part, Tag) else part
        if named := of_this_machine.search(words):
            yield part, f"names {named[0]!r}, a folder of this machine; show the file's name alone"


def _foreign_script(tag: Tag) -> bool:
    """Is it a script that isn't one of ours in its place, or does it have one in an attribute?"""
    if tag.name == "script":
        return bool(
            tag.get_text() not in SCRIPTS.values()
            or tag.attrs
            or tag.find_parent(attrs={"data-cell": True})
        )
    return any(name.startswith("on") for name in tag.attrs) or bool(
        _RUNS.match(str(tag.get("href", "")))
    )


def _dead_links(
    tree: BeautifulSoup, page: str, anchors: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Tag, str]]:
    """The links that lead to no page, out of the page's folder, or to no place in a page."""
    folder = posixpath.dirname(page)
    for link in tree.find_all("a", href=re.compile(r"^(?![a-z]+:)")):
        target, _, anchor = link["href"].partition("#")
        to = posixpath.normpath(posixpath.join(folder, target)) if target else page
        if to not in anchors:
            yield (
                link,
                f"link to {target!r}, which is not a handout; fix it, or finish that lesson",
            )
        elif folder != "instructor" and posixpath.dirname(to) != folder:
            yield (
                link,
                f"link to {target!r}, out of its folder, which is handed out alone; remove it",
            )
        elif anchor and anchor not in anchors[to]:
            yield (
                link,
                f"link to {link['href']!r}, but there is no such place; fix the part after '#'",
            )


def _linked(tree: BeautifulSoup, lessons: Sequence[Lesson], terms: Sequence[Term]) -> str:
    """The tree as HTML: links to notebooks lead to their pages, and terms to the glossary."""
    pages = {f"{other.name}.ipynb": other.page for other in lessons} | APPENDICES
    for link in tree.find_all("a", href=True):
        target, mark, anchor = link["href"].removeprefix("./").partition("#")
        if target in pages:
            link["href"] = pages[target] + mark + anchor
    link_terms(tree, terms)
    return str(tree)


def _index(lessons: Sequence[Lesson], sections: Mapping[str, Sequence[Section]]) -> dict[str, Any]:
    """What the index says: each lesson with its minutes, a short path, and what is new."""
    exercises = {
        page: sum(section.exercises for section in each) for page, each in sections.items()
    }
    pages = {lesson.number: lesson for lesson in lessons}
    parts = short_path(pages)
    curious = {number: spent for number, spent in optional_minutes().items() if number in pages}
    return {
        "title": "Lessons",
        "running": "",
        "lessons": lessons,
        "exercises": exercises,
        "path": parts,
        "hours": hours(parts),
        "pages": pages,
        "curious": curious,
        "news": _news(NEWS),
    }


def _news(path: Path) -> tuple[str, str] | None:
    """The heading and the text, as HTML, of the newest section of the list of changes, if there is
    one.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    found = next(((heading, news) for heading, news in sections if news.strip()), None)
    if not found:
        return None
    tree = BeautifulSoup(markdown(new_markdown_cell(found[1])), "html.parser")
    for tag in tree.find_all(True):
        tag.attrs.pop("id", None)
        if tag.name == "a" and not tag.get("href", "").startswith("http"):
            tag.unwrap()  # the repository's files aren't in the handouts
    return found[0].strip(), str(tree)


def _claims_page(path: Path, lessons: Sequence[Lesson]) -> dict[str, Any]:
    """The claims, grouped by the lessons that assert them."""
    groups: dict[tuple[str, ...], list[Known]] = {}
    known = sorted(claims_of(path).values(), key=lambda claim: claim.lessons[:1])
    for claim in known:
        groups.setdefault(claim.lessons, []).append(claim)
    finished = {lesson.number: lesson for lesson in lessons}
    parts = []
    for numbers in groups:
        names = (
            f"{number} {finished[number].title}" if number in finished else number
            for number in numbers
        )
        parts.append(Section(f"claims-{'-'.join(numbers)}", " · ".join(names) or "No lesson yet"))
    said = {
        "title": "Claims",
        "running": "What people say, and what measurement shows",
        "verdicts": VERDICTS,
    }
    return said | {"count": len(known), "contents": parts, "groups": groups, "finished": finished}
