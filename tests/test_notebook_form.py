"""Every lesson has the form of a lesson."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from helpers.folders import NOTEBOOKS, ROOT
from helpers.publish.handouts import OWN_CODE
from helpers.publish.lesson import RUN_FIRST
from helpers.publish.tidy import tidy
from helpers.teach.claims import asserted_in
from helpers.teach.exercises import exercises
from helpers.teach.notebook_files import read

LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
FIRST, LAST = "00", "11"

Notebook = dict[str, Any]
Check = Callable[[Notebook], Iterator[str]]  # yields a sentence for each thing that is wrong


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def sources(notebook: Notebook, kind: str) -> Iterator[tuple[str, str]]:
    """Id and text of the cells of one kind."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == kind:
            yield cell["id"], source(cell)


def opening(notebook: Notebook) -> str:
    """The prose before the first code cell."""
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    before = kinds.index("code") if "code" in kinds else len(kinds)
    return "\n\n".join(source(cell) for cell in notebook["cells"][:before])


def unfenced(markdown: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1\s*$", "", markdown, flags=re.MULTILINE | re.DOTALL)


def folded(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("jupyter", {}).get("source_hidden"))


def lines(code: str) -> list[str]:
    return [line for line in code.splitlines() if line.strip()]


def words(markdown: str) -> int:
    """How many words are read, without fenced code, link addresses, tags and marks."""
    return len(
        re.findall(
            r"[^\W_](?:[\w'’.,-]*\w)?", re.sub(r"\]\([^)]*\)|<[^>]*>", " ", unfenced(markdown))
        )
    )


def has_a_title(notebook: Notebook) -> Iterator[str]:
    prose = [unfenced(text) for _, text in sources(notebook, "markdown")]
    titles = re.findall(r"^# +\S.*$", "\n\n".join(prose), flags=re.MULTILINE)
    if (
        not prose
        or notebook["cells"][0]["cell_type"] != "markdown"
        or not prose[0].startswith("# ")
    ):
        yield "the first cell does not begin with the title, as “# Copy a big file”"
    if len(titles) > 1:
        yield f"one title is enough, and the parts of a lesson are “##”: {titles}"


def has_an_opening(notebook: Notebook) -> Iterator[str]:
    text = opening(notebook)
    for part in ("You will do", "You will learn", "You need"):
        if part.lower() not in text.lower():
            yield f"nothing before the first code cell says “{part}”"
    if not re.search(r"\b\d+ minutes\b", text):
        yield (
            "nothing before the first code cell says how many minutes the lesson takes, as “50 "
            "minutes”"
        )


def has_neighbours(notebook: Notebook) -> Iterator[str]:
    number = opening(notebook)[2:4]
    for word, absent in (("Previous", FIRST), ("Next", LAST)):
        if number != absent and not re.search(rf"\b{word}:", opening(notebook), re.IGNORECASE):
            yield (
                f"nothing before the first code cell says “{word}:”, with the lesson or its title"
            )


def links_to_lessons_that_exist(notebook: Notebook) -> Iterator[str]:
    for name, text in sources(notebook, "markdown"):
        for link in re.findall(r"\]\(([^)#:]+\.ipynb)", text):
            if not (NOTEBOOKS / link).is_file():
                yield f"{name}: links to {link}, which does not exist"


def has_a_recap(notebook: Notebook) -> Iterator[str]:
    prose = "\n\n".join(text for _, text in sources(notebook, "markdown"))
    if not re.search(r"^##+ .*\brecap\b", prose, re.MULTILINE | re.IGNORECASE):
        yield "no heading “Recap”"


def sittings(notebook: Notebook) -> Iterator[tuple[str, tuple[int, int], Notebook]]:
    """What's read in one go, with the words and code cells that it may have: a lesson, or its parts
    before and after “## Pause”. What follows “## Optional …”, at the end, isn't part of the
    lesson's minutes, and must be shorter.
    """
    parts: dict[str, list] = {"in sight": []}
    for cell in notebook["cells"]:
        heading = (
            re.match(r"## (Pause|Optional)\b", source(cell))
            if cell["cell_type"] == "markdown"
            else None
        )
        if heading:
            parts.setdefault(
                {"Pause": "after the pause", "Optional": "that are optional"}[heading[1]], []
            )
        parts[list(parts)[-1]].append(cell)
    for name, cells in parts.items():
        yield name, (800, 10) if name == "that are optional" else (2500, 30), {"cells": cells}


def tells_headings_apart(notebook: Notebook) -> Iterator[str]:
    """In the table of contents, and by their address in a handout."""
    headings = re.findall(
        r"^#+ +(.+)$",
        unfenced("\n\n".join(text for _, text in sources(notebook, "markdown"))),
        re.M,
    )
    for heading, count in Counter(headings).items():
        if count > 1:
            yield f"{count} headings “{heading}”; add a word or two that tells them apart"


def has_short_cells(notebook: Notebook) -> Iterator[str]:
    """Folded cells (imports and claims) are only read by those who open them: there may be any
    number.
    """
    code_cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code_cells:
        most = 24 if "imports" in cell["metadata"].get("tags", ()) else 20
        # a folded cell's title doesn't count
        if (length := len(lines(source(cell))) - folded(cell)) > most:
            yield f"{cell['id']}: {length} lines, {most} are allowed"
    in_sight = [len(lines(source(cell))) for cell in code_cells if not folded(cell)]
    if in_sight and median(in_sight) > 5:
        yield f"the median code cell has {median(in_sight):g} lines, 5 are allowed"
    for name, (_, most), part in sittings(notebook):
        seen = [cell for cell in part["cells"] if cell["cell_type"] == "code" and not folded(cell)]
        if len(seen) > most:
            yield f"{len(seen)} code cells {name}, {most} are allowed"


TITLES = {"claim": "# how this is asserted\n", "imports": "# imports\n"}


def folds_imports_and_claims(notebook: Notebook) -> Iterator[str]:
    """One cell measures, in sight. The next claims, from what's there already, and only its box is
    in sight.
    """
    first, *later = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in (first, *later):
        claims = asserted_in(source(cell))
        wanted = "claim" if claims else "imports" if cell is first else None
        tags = {"claim", "imports"} & set(cell["metadata"].get("tags", []))
        if (folded(cell), tags) != (bool(wanted), {wanted} if wanted else set()):
            yield f"{cell['id']}: " + (
                f'needs the tag "{wanted}" and "jupyter": {{"source_hidden": true}} in its metadata'
                if wanted
                else "is neither the imports nor a claims cell, and yet it is folded"
            )
        if wanted and not source(cell).startswith(TITLES[wanted]):
            yield (
                f"{cell['id']}: begins without “{TITLES[wanted].strip()}”, which is all that "
                "JupyterLab shows of it"
            )
        called = set(re.findall(r"(\w+)\(", source(cell))) if claims else set()
        for name in sorted(
            called & {"compare", "exercise", "measure", "predict", "quiz", "recorded", "workers"}
        ):
            yield (
                f"{cell['id']}: calls {name}; a claims cell computes from what an earlier cell "
                "measured"
            )


def is_short(notebook: Notebook) -> Iterator[str]:
    for name, (most, _), part in sittings(notebook):
        count = sum(words(text) for _, text in sources(part, "markdown"))
        if count > most:
            yield f"{count} words of prose {name}, {most} are allowed"


def plain(markdown: str) -> str:
    """Prose in which code is one word, and links have no addresses."""
    return re.sub(r"\]\([^)]*\)", "]", re.sub("`[^`]*`", "code", unfenced(markdown)))


def has_few_brackets(notebook: Notebook) -> Iterator[str]:
    """What a reader needs stands in a sentence, and what nobody needs is left out: five brackets of
    five words or more a lesson, sixty in the course.
    """
    brackets = [
        inside
        for _, text in sources(notebook, "markdown")
        for inside in re.findall(r"\(([^()]*)\)", plain(text))
        if words(inside) >= 5
    ]
    if len(brackets) > 5:
        yield f"{len(brackets)} brackets of five words or more, 5 are allowed: {brackets}"


def imports_at_the_top(notebook: Notebook) -> Iterator[str]:
    """Only functions may import later: they run in an interpreter of their own."""
    for name, code in list(sources(notebook, "code"))[1:]:
        pending: list[ast.AST] = [ast.parse(TransformerManager().transform_cell(code))]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{name}: imports; only the first code cell does"
            elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                pending.extend(ast.iter_child_nodes(node))


def keeps_notes_for_teachers_apart(notebook: Notebook) -> Iterator[str]:
    """JupyterLab shows every cell, collapsed or not, to everybody."""
    for cell in notebook["cells"]:
        if "teacher" in cell["metadata"].get("tags", []):
            yield f"{cell['id']}: a note for teachers; it belongs into teacher/"


def names_each_thing_once(notebook: Notebook) -> Iterator[str]:
    """So that any cell can be run again, in any order, once the whole lesson has run."""
    named: dict[str, int] = {}
    for index, (name, code) in enumerate(sources(notebook, "code")):
        tree = ast.parse(TransformerManager().transform_cell(code))
        made = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
        made |= {
            n.id
            for t in targets
            for n in ast.walk(t)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        for thing in sorted(made):
            if named.setdefault(thing, index) != index:
                yield (
                    f"{name}: {thing!r} is something else already, since code cell "
                    f"{named[thing] + 1}"
                )


def shows_what_it_runs(notebook: Notebook) -> Iterator[str]:
    for name, code in sources(notebook, "code"):
        if "%%capture" in code:
            yield f"{name}: %%capture hides what the cell shows"
        if any(line.split("#")[0].rstrip().endswith(";") for line in lines(code)):
            yield f"{name}: a line ends with “;”, which hides what the cell shows"
        if "sys.path" in code:
            yield f"{name}: changes sys.path; helpers is installed"


FOLDED = re.compile(  # with these styles, an arrow in nbviewer and a gap in JupyterLab
    r'<details style="margin-bottom: 1em"><summary style="display: list-item">'
    rf"<b>[^<]+</b> {RUN_FIRST}</summary>\n\n(?!#)(.(?!\n#))+?\n\n</details>(\n\n|\Z)",
    re.DOTALL,
)


def folds_what_answers_a_prediction(notebook: Notebook) -> Iterator[str]:
    """JupyterLab shows the text that explains a measurement while its prediction is still to be
    made. So the first text after the measurement is folded, up to where it leads on.
    """
    measured = False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            measured |= bool(re.search(r"\.beside\(|\bpredicted=", source(cell)))
        elif measured:
            measured = False
            if not FOLDED.match(source(cell)):
                yield f"{cell['id']}: isn't folded as in lesson 02, or folds a heading"


CHECKS: list[Check] = [
    has_a_title,
    has_an_opening,
    has_neighbours,
    links_to_lessons_that_exist,
    has_a_recap,
    tells_headings_apart,
    has_short_cells,
    folds_imports_and_claims,
    is_short,
    has_few_brackets,
    folds_what_answers_a_prediction,
    imports_at_the_top,
    keeps_notes_for_teachers_apart,
    names_each_thing_once,
    shows_what_it_runs,
]


def test_there_are_lessons():
    assert LESSONS, f"no lesson such as 02_copy_a_big_file.ipynb in {NOTEBOOKS}"


def test_lessons_have_names_and_numbers():
    here = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert [
        path.name for path in here if not re.fullmatch(r"\d\d(_[a-z0-9]+)+\.ipynb", path.name)
    ] == []
    numbers = [path.name[:2] for path in here]
    assert len(numbers) == len(set(numbers)), f"a number twice: {numbers}"


@pytest.mark.parametrize("path", [*LESSONS, OWN_CODE], ids=lambda path: path.stem)
def test_lesson_is_stored_tidily(path: Path):
    assert not tidy(path, check=True), "`make format` fixes it"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lesson(path: Path, check: Check):
    assert list(check(read(path))) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_an_opening_says_what_the_exercises_add_up_to(path: Path):
    (said,) = re.findall(r"(\d+)(?: more)? for the exercises?\b", opening(read(path)))
    mine = [one for one in exercises() if one.key.startswith(path.name[:2])]
    assert int(said) == sum(one.minutes for one in mine)


def test_the_tables_of_lessons_say_the_minutes_of_each():
    openings = {path.name[:2]: opening(read(path)) for path in LESSONS}
    said = {number: re.search(r"\b(\d+) minutes\b", text)[1] for number, text in openings.items()}
    for table in (ROOT / "README.md", LESSONS[0]):
        rows = dict(re.findall(r"\| (\d\d) \|[^|]+\| (\d+) \|", table.read_text("utf-8")))
        assert rows == said, table.name
