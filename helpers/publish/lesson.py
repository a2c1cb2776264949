"""One executed lesson as the body of a page: its cells as HTML, for students or for instructors."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

import nbformat
from bs4 import BeautifulSoup
from nbconvert.exporters import TemplateExporter
from nbconvert.filters import ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from pygments import highlight
from pygments.filter import simplefilter
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, Token

from ..folders import TEACHER
from ..teach import Exercise
from ..units import NOT_MEASURED
from ..widgets import VIEW, static_html

Edition = Literal["student", "instructor"]
TEMPLATE = Path(__file__).parent / "template"
STYLE = (TEMPLATE / "style.css").read_text(encoding="utf-8")
COLOURED = set(re.findall(r"\.code \.(\w+)", STYLE))
# no other may be in a page
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in TEMPLATE.glob("*.js")}
_HASHES = " ".join(
    f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in SCRIPTS.values()
)
# a browser keeps it
POLICY = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {_HASHES}"
FOR_INSTRUCTORS = {"teacher", "controls"}  # tags of cells that only their edition has
# what is said because nobody has worked in the lesson
UNDONE = ".zc-verdict[data-outcome='not attempted'], .zc-none"
# ends the summary under which a notebook folds what explains a measurement; a page has measured
RUN_FIRST = "Run the cell first."


class HandoutError(Exception):
    """Problems that stop the build of the handouts: a line for each, with its lesson, cell and
    remedy.
    """


@dataclass(frozen=True)
class Lesson:
    """What the other pages say about a lesson. `question` and `objectives` are HTML; `notebook` has
    its outputs. An appendix has only the first three.
    """

    name: str
    title: str
    notebook: NotebookNode
    number: str = ""
    minutes: int = 0
    question: str = ""
    objectives: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """The file's name, the same in each edition's folder."""
        return f"{self.name}.html"


def read(path: Path, notes: Path = TEACHER) -> Lesson:
    """Reads a lesson from its executed notebook, and puts each teachers' note, from
    `notes`/<name>.md, after its cell. Raises HandoutError if the opening isn't complete, or if
    there is no cell for a note.
    """
    notebook = nbformat.read(path, as_version=4)
    _add_notes(notebook, notes / f"{path.stem}.md")
    text = [
        markdown(cell)
        for cell in notebook.cells
        if cell.cell_type == "markdown" and "teacher" not in _tags(cell)
    ]
    soup = BeautifulSoup("".join(text), "html.parser")
    title = soup.find("h1")
    minutes = re.search(r"(\d+)\s+minutes", soup.get_text())
    learn = soup.find(string=re.compile(r"^\s*You will learn", re.I))
    objectives = learn.find_next(["ul", "ol"]).find_all("li", recursive=False) if learn else []
    if not (title and minutes and objectives):
        wanted = (
            "a first line '# NN Title', its duration, as in '50 minutes', 'You will learn' with a "
            "list after it"
        )
        raise HandoutError(f"{path.name}: the opening needs {wanted}")
    question = title.find_next(["blockquote", "p"])
    question = (question.find("p") or question).decode_contents()
    title = re.sub(r"^(Lesson\s+)?\d+\s*[.:·–—-]?\s*", "", title.get_text().strip())
    learned = tuple(item.decode_contents() for item in objectives)
    return Lesson(path.stem, title, notebook, path.stem[:2], int(minutes[1]), question, learned)


def _add_notes(notebook: NotebookNode, path: Path) -> None:
    """Notes are in a file of their own, so that students don't see them in the notebook: "##
    cell-id", then text. A heading of several words, "## What the check sees", belongs to no cell:
    it ends the lesson, with its text.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for heading, note in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text):
        at = len(notebook.cells) - 1
        note = note.strip()
        if " " in heading:
            note = f"## {heading}\n\n{note}"
        elif (
            at := next((i for i, cell in enumerate(notebook.cells) if cell.id == heading), None)
        ) is None:
            raise HandoutError(
                f"{path.name}: a note for {heading!r}, but the lesson has no such cell"
            )
        name = f"{heading.replace(' ', '-')}-note"
        notebook.cells.insert(
            at + 1, new_markdown_cell(note, id=name, metadata={"tags": ["teacher"]})
        )


def _tags(cell: NotebookNode) -> Sequence[str]:
    return cell.metadata.get("tags", ())


def body(lesson: Lesson, edition: Edition, exercise: Callable[[str], Exercise]) -> BeautifulSoup:
    """The lesson's cells as a tree, without what the page's header has: the title, and the line of
    neighbours. `exercise` finds an exercise by its key; only the instructor edition calls it.
    """
    notebook = lesson.notebook.copy()
    if edition != "instructor":
        notebook.cells = [
            cell for cell in notebook.cells if not FOR_INSTRUCTORS.intersection(_tags(cell))
        ]
    html, _ = _EXPORTER.from_notebook_node(notebook)
    tree = BeautifulSoup(html, "html.parser")
    if title := tree.find("h1"):
        title.decompose()
    for line in [line for cell in tree.select(".prose")[:2] for line in cell.find_all(["p", "li"])]:
        if re.match(r"(Previous|Next)\b", line.get_text().strip()) and line.find("a"):
            line.decompose()
    for fold in tree.select(".prose > details"):
        if fold.summary.get_text().endswith(RUN_FIRST):
            fold.summary.decompose()
            fold.unwrap()
    if edition == "instructor":
        for details in tree.find_all("details"):
            details["open"] = ""
        for box in tree.select("[data-exercise]"):
            # its starter and its verdict come after it
            cell = box.find_parent(attrs={"data-cell": True})
            while (following := cell.find_next_sibling()) and following.css.match(
                ".starter, :has(.zc-verdict)"
            ):
                cell = following
            cell.insert_after(tree_of("solution.html.j2", exercise=exercise(box["data-exercise"])))
    elif quizzes := tree.select(".zc-quiz"):
        tree.append(tree_of("answers.html.j2", quizzes=quizzes))
    for tag in tree.select(UNDONE if edition == "student" else f"{UNDONE}, .zc-click"):
        output = tag.find_parent(class_="output")
        tag.decompose()
        if output and not output.get_text(strip=True) and not output.find("img"):
            output.decompose()
    for number, image in enumerate(tree.select(".zc-figure img"), 1):
        zoom = tree_of("zoom.html.j2", number=number).label
        image.replace_with(zoom)
        zoom.insert(0, image)
    box_tables(tree)
    return tree


def output_problems(lesson: Lesson) -> Iterator[str]:
    """Outputs that don't belong in a handout, and what to do about each of them."""
    for cell in lesson.notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if output.output_type == "error":
                problem = (
                    f"ends in {output.ename}: {output.evalue}; catch it in the cell, or fix the "
                    "cell"
                )
            elif output.get("name") == "stderr" and output.text.strip():
                last = output.text.strip().splitlines()[-1].strip()
                problem = f"writes to stderr ({last!r}); fix what it warns about"
            elif VIEW in data and "text/html" not in data:
                problem = (
                    "shows a widget without a picture; put text/html into the same display bundle"
                )
            elif "text/html" not in data and any(kind.startswith("image/") for kind in data):
                problem = "shows an image without alternative text; show it through helpers.show"
            else:
                continue
            yield f"{lesson.name}.ipynb, cell {cell.id}: {problem}"


class _Renderer(IPythonRenderer):
    def block_code(self, code: str, info: str | None = None) -> str:
        return _block(code, (info or "text").split()[0])


def markdown(cell: NotebookNode) -> str:
    """A Markdown cell as HTML, with its attachments inline."""
    attachments = {name: dict(data) for name, data in cell.get("attachments", {}).items()}
    renderer = _Renderer(
        escape=False, exclude_anchor_links=False, anchor_link_text="", attachments=attachments
    )
    tree = BeautifulSoup(MarkdownWithMath(renderer=renderer).render(cell.source), "html.parser")
    for empty in tree.select("a.anchor-link"):
        empty.decompose()
    return str(tree)


def inline(text: str) -> str:
    """A line of Markdown as HTML that fits inside a paragraph."""
    html = MarkdownWithMath(renderer=_Renderer(escape=True)).render(text).strip()
    return html.removeprefix("<p>").removesuffix("</p>")


def _block(source: str, language: str = "ipython3") -> str:
    return f'<pre class="code" tabindex="0"><code>{_code(source, language)}</code></pre>'


@lru_cache(1000)  # each edition asks for the same
def _code(source: str, language: str = "ipython3") -> str:
    lexer = get_lexer_by_name(language, filters=[_coloured()])
    return highlight(source.strip("\n"), lexer, HtmlFormatter(nowrap=True))


@simplefilter
def _coloured(self, lexer, stream, options):
    """Leaves marks only on what has a colour: most tokens have none, and would be half of all
    tags.
    """
    for kind, text in stream:
        yield kind if STANDARD_TYPES.get(kind) in COLOURED else Token, text


def _shown(output: NotebookNode) -> str:
    """An output as HTML, from the richest form in its bundle that needs no script."""
    data = output.get("data", {})
    if "text/html" in data:
        html = static_html(data["text/html"])
        return f'<div class="output">{html}</div>' if html else ""
    text = output.get("text") or data.get("text/plain", "")
    return f'<pre class="output" tabindex="0">{ansi2html(text)}</pre>' if text.strip() else ""


_EXPORTER = TemplateExporter(
    template_paths=[str(TEMPLATE)],
    template_file="cells.html.j2",
    file_extension=".html",
    filters={
        "markdown": markdown,
        "inline": inline,
        "block": _block,
        "code": _code,
        "shown": _shown,
    },
    preprocessors=["nbconvert.preprocessors.CoalesceStreamsPreprocessor"],
)


def filled(template: str, **values: object) -> str:
    """One of the templates with these values, and with the style and the scripts, which only a
    whole page needs.
    """
    whole = {"style": STYLE, "scripts": SCRIPTS, "policy": POLICY}
    return _EXPORTER.environment.get_template(template).render(**whole, **values)


def tree_of(template: str, **values: object) -> BeautifulSoup:
    return BeautifulSoup(filled(template, **values), "html.parser")


WIDE = 8  # columns; a table with more is smaller on paper
_AMOUNT = re.compile(r"[-−+]?[\d.,]+\s?[^\s\d]*|–|-")


def box_tables(tree: BeautifulSoup) -> None:
    """Puts each table into a box that scrolls, which a keyboard can reach; aligns columns of
    amounts at the right.
    """
    for table in tree.find_all("table"):
        rows = [row.find_all(["th", "td"]) for row in table.find_all("tr")]
        for column in zip(*rows, strict=False):
            if not (head := column[0]).get_text().strip():
                head.name = "td"  # for a screen reader, an empty header means nothing
            below = [cell for cell in column[1:] if cell.get_text().strip() != NOT_MEASURED]
            if below and all(
                cell.name == "td" and _AMOUNT.fullmatch(cell.get_text().strip()) for cell in below
            ):
                for cell in column:
                    cell["class"] = [
                        *cell.get("class", ()),
                        "amount" if cell in (head, *below) else "unmeasured",
                    ]
        if rows and len(rows[0]) > WIDE:
            table["class"] = [*table.get("class", ()), "wide"]
        box = tree.new_tag("div", attrs={"class": "scroll", "role": "group", "tabindex": "0"})
        box["aria-label"] = table.caption.get_text().strip() if table.caption else "Table"
        table.wrap(box)
