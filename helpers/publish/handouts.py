"""The handouts: executed lessons as pages that need nothing but themselves, with an index, claims and a glossary.

Every page is one file: no script, nothing loaded. Whatever would spoil one for a reader (a figure without
alternative text, a widget without a picture, a link that leads nowhere, …) stops the build and is named.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, NavigableString
from nbformat.v4 import new_markdown_cell

from ..folders import BUILD, GLOSSARY, NOTEBOOKS
from ..teach import Exercise
from ..teach.claims import CLAIMS, VERDICTS
from ..teach.claims import claims as claims_of
from ..whole_folder import write_folder
from .lesson import Edition, HandoutError, Lesson, body, box_tables, inline, markdown, output_problems, page, read

RUST = NOTEBOOKS / "rust" / "README.md"
EDITIONS: tuple[Edition, ...] = ("student", "instructor")

_LOADS = ("src", "srcset", "poster", "data", "xlink:href")
_FILLER = re.compile(r"no description has been provided|^(image|figure|plot|picture|png|chart)\W*\d*$", re.I)
_UNLINKED = {"a", "code", "pre", "summary", "caption", "figcaption", "th", "math", "svg"}
_UNLINKED |= {"h1", "h2", "h3", "h4", "h5", "h6"}


@dataclass(frozen=True)
class Term:
    name: str
    means: str
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return re.sub(r"\W+", "-", self.name.lower())


def handouts(
    notebooks: Iterable[Path],
    folder: Path = BUILD / "handouts",
    *,
    exercise: Callable[[str], Exercise],
    claims: Path = CLAIMS,
    glossary: Path = GLOSSARY,
) -> list[Path]:
    """Write the handouts of these executed lessons into `folder`, which is replaced as a whole, or not at all.

    `exercise` finds an exercise by its key. HandoutError lists every problem.
    """
    lessons = [read(path) for path in notebooks]
    problems = [problem for lesson in lessons for problem in output_problems(lesson)]
    if problems:  # what stands below could only repeat them
        raise HandoutError("\n".join(problems))
    terms = read_terms(glossary)
    pages = {
        lesson.page(edition): _lesson_page(lesson, edition, lessons, terms, exercise)
        for lesson in lessons
        for edition in EDITIONS
    }
    pages["index.html"] = page("index.html.j2", page="index.html", title="Lessons", running="", lessons=lessons)
    pages["claims.html"] = _claims_page(claims, lessons)
    pages["glossary.html"] = page(
        "glossary.html.j2", page="glossary.html", title="Glossary", running="Glossary", terms=terms
    )
    pages["rust.html"] = _rust_page(terms)
    if problems := page_problems(pages):
        raise HandoutError("\n".join(problems))
    write_folder(folder, {name: html.encode() for name, html in pages.items()})
    return [folder / name for name in sorted(pages)]


def read_terms(path: Path = GLOSSARY) -> list[Term]:
    """The glossary in alphabetical order."""
    plain = tomllib.loads(path.read_text(encoding="utf-8"))
    terms = [Term(name, entry["means"], tuple(entry.get("also", ()))) for name, entry in plain.items()]
    return sorted(terms, key=lambda term: term.name.lower())


def link_terms(tree: BeautifulSoup, terms: Sequence[Term]) -> None:
    """Link the first use of each term to its entry, the longest term that fits winning; prose only.

    Teachers' notes are left alone, so that both editions link the same words.
    """
    by_spelling = {spelling.lower(): term for term in terms for spelling in (term.name, *term.also)}
    longest_first = sorted(by_spelling, key=len, reverse=True)
    words = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(s?)(?![\w-])", re.I)
    linked: set[str] = set()
    for text in [text for text in tree.find_all(string=words) if _is_prose(text)]:
        pieces, end = [], 0
        for found in words.finditer(text):
            term = by_spelling[found[1].lower()]
            if term.name in linked:
                continue
            linked.add(term.name)
            link = tree.new_tag("a", href=f"glossary.html#{term.anchor}", attrs={"class": "term"}, title=term.means)
            link.string = found[0]
            pieces += [NavigableString(text[end : found.start()]), link]
            end = found.end()
        if pieces:
            text.replace_with(*pieces, NavigableString(text[end:]))


def page_problems(pages: Mapping[str, str]) -> list[str]:
    """What would spoil these pages (name to HTML) for a reader: each with its page, its cell and what to do."""
    trees = {name: BeautifulSoup(html, "html.parser") for name, html in pages.items()}
    anchors = {name: {tag["id"] for tag in tree.find_all(id=True)} for name, tree in trees.items()}
    found = []
    for name, tree in trees.items():

        def report(tag: Any, problem: str, name: str = name) -> None:
            cell = tag.find_parent(attrs={"data-cell": True})
            where = f"{name}, cell {cell['data-cell']}" if cell else name
            found.append(f"{where}: {problem}")

        for image in tree.find_all("img"):
            alt = (image.get("alt") or "").strip()
            if not alt or _FILLER.search(alt):
                report(image, f"image with no real alternative text ({alt!r}); say what it shows, with its figures")
        for script in tree.find_all("script"):
            report(script, "a script; show something that stands without one")
        for tag in tree.find_all(True):
            source = next((tag[name] for name in _LOADS if tag.get(name)), "")
            source = source or ("" if tag.name in ("a", "area") else tag.get("href", ""))
            style = tag.get_text() if tag.name == "style" else tag.get("style", "")
            if (source and not source.startswith(("data:", "#"))) or re.search(
                r"@import|url\(\s*['\"]?(?!data:|['\"]?#)", style
            ):
                report(tag, f"<{tag.name}> loads {source or 'from its style'}; carry it in the page (data:)")
        for link in tree.find_all("a", href=True):
            target, _, anchor = link["href"].partition("#")
            if re.match(r"[a-z]+:", link["href"]):
                continue
            if (target or name) not in pages:
                report(link, f"link to {target!r}, which is no handout; mend it, or finish that lesson")
            elif anchor and anchor not in anchors[target or name]:
                report(link, f"link to {link['href']!r}, but there is no such place; mend the part after '#'")
    return list(dict.fromkeys(found))


def _lesson_page(
    lesson: Lesson,
    edition: Edition,
    lessons: Sequence[Lesson],
    terms: Sequence[Term],
    exercise: Callable[[str], Exercise],
) -> str:
    tree = body(lesson, edition, exercise)
    pages = {f"{other.name}.ipynb": other.page(edition) for other in lessons} | {"rust/README.md": "rust.html"}
    for link in tree.find_all("a", href=True):
        target, mark, anchor = link["href"].removeprefix("./").partition("#")
        if target in pages:
            link["href"] = pages[target] + mark + anchor
    link_terms(tree, terms)
    here = lessons.index(lesson)
    return page(
        "lesson.html.j2",
        page=lesson.page(edition),
        title=f"{lesson.number} {lesson.title}",
        running=f"{lesson.number}  {lesson.title}",
        edition=edition,
        lesson=lesson,
        body=str(tree),
        previous=lessons[here - 1] if here else None,
        next=lessons[here + 1] if here + 1 < len(lessons) else None,
    )


def _claims_page(path: Path, lessons: Sequence[Lesson]) -> str:
    """The claims, grouped by the lessons that assert them."""
    finished = {lesson.number: lesson for lesson in lessons}
    groups: dict[str, list[dict]] = {}
    known = sorted(claims_of(path).values(), key=lambda claim: claim.lessons[:1])
    for claim in known:
        texts = {field: inline(getattr(claim, field)) for field in ("said", "better", "show", "source")}
        groups.setdefault(_heading(claim.lessons, finished), []).append(
            {"id": claim.id, "kind": claim.verdict, "verdict": VERDICTS[claim.verdict], **texts}
        )
    return page(
        "claims.html.j2",
        page="claims.html",
        title="Claims",
        running="What is said, and what survives measurement",
        groups=list(groups.items()),
        count=len(known),
    )


def _rust_page(terms: Sequence[Term]) -> str:
    """The appendix, which is the Rust programs' README: it stands by itself, and so it links to no file."""
    tree = BeautifulSoup(markdown(new_markdown_cell(RUST.read_text(encoding="utf-8"))), "html.parser")
    title = tree.find("h1").extract().get_text()
    box_tables(tree)
    link_terms(tree, terms)
    return page("rust.html.j2", page="rust.html", title=title, running=title, body=str(tree))


def _heading(numbers: Sequence[str], finished: Mapping[str, Lesson]) -> str:
    links = [
        f'<a href="{finished[number].page("student")}">Lesson {number}: {escape(finished[number].title)}</a>'
        if number in finished
        else f"Lesson {number}"
        for number in numbers
    ]
    return " · ".join(links) or "No lesson yet"


def _is_prose(text: NavigableString) -> bool:
    return type(text) is NavigableString and not any(
        parent.name in _UNLINKED or {"teacher", "solution", "answers"} & set(parent.get("class", ()))
        for parent in text.parents
    )
