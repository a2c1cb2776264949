"""A lesson runs once until it changes; pages are whole, linked, and refused if they'd let a reader
down.
"""

import os
import re
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
import sample_lessons
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tables import each_of

from helpers.edition import Edition
from helpers.folders import ROOT, generated
from helpers.publish import HandoutError, LessonFailed, executed
from helpers.publish import __main__ as publish_main
from helpers.publish import execute as execute_module
from helpers.publish.contents import contents
from helpers.publish.handouts import GLOSSARY, OWN_CODE, link_terms, page_problems, read_terms
from helpers.publish.lesson import SCRIPTS, Lesson, body, filled, read
from helpers.safe_files import write_folder
from helpers.teach.short_path import Part

pytestmark = pytest.mark.slow

module = import_module("helpers.publish.handouts")  # the attribute of that name is the function
STEMS = (
    "casebook",
    "claims",
    "desk_sheet",
    "does_it_copy",
    "glossary",
    "index",
    "measure_your_own_code",
    "rust",
    "search",
)
COMMON = tuple(f"{stem}.html" for stem in STEMS)
CLAIMS = (ROOT / "tests" / "cases" / "claims.toml").read_text(encoding="utf-8")


def made(folder: Path, **notebooks: nbformat.NotebookNode) -> dict[str, BeautifulSoup]:
    """The handouts of these lessons (n02_x: a notebook), or of the two sample lessons, in
    folder/handouts: {"student/index.html": tree}.
    """
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    paths = [] if notebooks else sample_lessons.write(folder)
    for name, notebook in notebooks.items():
        paths.append(folder / f"{name.removeprefix('n')}.ipynb")
        nbformat.write(notebook, paths[-1])
    into = folder / "handouts"
    pages = sample_lessons.handouts(paths, into, claims=folder / "claims.toml")
    trees = (BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser") for page in pages)
    return {
        page.relative_to(into).as_posix(): tree for page, tree in zip(pages, trees, strict=True)
    }


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., dict[str, BeautifulSoup]]:
    return partial(made, tmp_path)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BeautifulSoup]:
    """The pages of the two sample lessons; tests may read them, but not change them."""
    return made(tmp_path_factory.mktemp("pages"))


# --- execute --------------------------------------------------------------------------------------


def notebook_of(path: Path, *sources: str) -> Path:
    cells = [new_code_cell(source, id=f"cell-{at}") for at, source in enumerate(sources)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.mark.measured
def test_a_lesson_runs_once_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    lesson = notebook_of(
        tmp_path / "01_try.ipynb",
        "import os, sys, time, pathlib\nheld = bytearray(b'x') * (64 << 20)\ntime.sleep(1)",
        "e = os.environ\nprint(sys.executable, pathlib.Path.cwd(), e['ZERO_COPY_STRICT'],"
        " e['TQDM_DISABLE'])",
        "assert not list(pathlib.Path(e['ZERO_COPY_STATE']).iterdir())",
    )
    copy = executed(lesson, tmp_path / "executed")
    notebook = nbformat.read(copy, 4)
    assert notebook.cells[1].outputs[0].text.split() == [sys.executable, str(tmp_path), "1", "1"]
    facts = notebook.metadata.zero_copy
    assert facts.wall > 1
    assert 64 << 20 < facts.peak < 512 << 20

    made = copy.stat().st_mtime_ns
    assert executed(lesson, tmp_path / "executed") == copy
    assert copy.stat().st_mtime_ns == made, "an unchanged lesson was run again"

    notebook_of(lesson, "'fine'", "\n# a division\n1/0", "'never reached'")
    with pytest.raises(LessonFailed) as failure:
        executed(lesson, tmp_path / "executed")
    assert "01_try.ipynb, cell cell-1: ZeroDivisionError: division by zero" in str(failure.value)
    assert "# a division" in str(failure.value)
    assert copy.stat().st_mtime_ns == made, "a failed run touched the copy of an earlier one"
    partial = nbformat.read(tmp_path / "executed" / "01_try.failed.ipynb", 4)
    assert [len(cell.outputs) for cell in partial.cells] == [1, 1, 0]


def test_a_key_follows_what_a_run_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lesson = notebook_of(tmp_path / "01_try.ipynb", "1")
    shown, another = (
        tmp_path / f"exercises/{file}" for file in ("01/first/wrong/slip.py", "02/second/prompt.md")
    )
    inputs = [
        shown,
        tmp_path / "helpers/a.py",
        tmp_path / "claims.toml",
        tmp_path / "recorded/rust.csv",
        lesson,
    ]
    monkeypatch.setattr(execute_module, "EXERCISES", tmp_path / "exercises")
    for path in (*inputs[:-1], another):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(execute_module, "ROOT", tmp_path)
    monkeypatch.setattr(execute_module, "DATA", tmp_path)
    monkeypatch.setattr(execute_module, "RECORDED", tmp_path / "recorded")
    keys = [execute_module._key(lesson)]
    for path in inputs:
        path.write_text("changed")
        keys.append(execute_module._key(lesson))
    assert len(set(keys)) == len(inputs) + 1
    another.write_text("another lesson's")
    (tmp_path / "glossary.toml").write_text("what a handout needs and a run does not")
    assert execute_module._key(lesson) == keys[-1]


@pytest.mark.parametrize("by, same", [(None, False), ("any", True)])
def test_a_copy_counts_on_another_python_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, same: bool
):
    lesson = notebook_of(tmp_path / "01_try.ipynb", "1")
    monkeypatch.delenv("ZERO_COPY_EXECUTED_BY", raising=False)
    if by:
        monkeypatch.setenv("ZERO_COPY_EXECUTED_BY", by)
    before = execute_module._key(lesson)
    monkeypatch.setattr(execute_module.platform, "python_version", lambda: "3.10.0")
    assert (execute_module._key(lesson) == before) is same


# --- editions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("failures", [1, 2])
def test_a_lesson_that_fails_runs_once_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, failures: int
):
    runs = []

    def once(lesson: Path) -> Path:
        runs.append(lesson)
        if len(runs) <= failures:
            raise LessonFailed(f"{lesson}: a claim differs")
        return lesson

    monkeypatch.setattr(publish_main, "executed", once)
    with pytest.raises(LessonFailed) if failures == 2 else nullcontext():
        assert publish_main.ran(Path("01")) == Path("01")
    assert len(runs) == 2
    assert "01: a claim differs\nOnce more" in capsys.readouterr().err


def test_only_the_instructor_sees_solutions_and_notes(pages):
    student = pages["student/02_copy_all.html"]
    instructor = pages["instructor/02_copy_all.html"]
    for text in ("solution-only-text", "wrong-answer-text", "Reuse one", "who can take them back"):
        holding = {name for name, page in pages.items() if text in str(page)} - {
            "instructor/02_copy_all_answers.html"
        }
        assert holding == {"instructor/02_copy_all.html", "instructor/search.html"}
    assert student.select_one(".starter").get_text().strip().startswith("def copy(source, target):")
    assert student.select_one(".answers")
    assert not instructor.select_one(".answers")
    assert all(choice.has_attr("open") for choice in instructor.select(".zc-choice"))
    assert not any(choice.has_attr("open") for choice in student.select(".zc-choice"))
    solution = instructor.select_one(".solution")
    assert solution.find_previous_sibling()["data-cell"] == "copy-check"
    assert solution.find_next_sibling()["data-cell"] == "copy-demo"


def test_answers_hold_every_choice_with_its_feedback(pages):
    answers = pages["student/02_copy_all.html"].select_one(".answers")
    assert [" ".join(choice.get_text().split()) for choice in answers.select("ul li")] == [
        "(a) It is too small ✗ Not this one. It is as large as the file.",
        "(b) No allocator was asked ✓ Right. The pages are the page cache’s.",
    ]
    assert [choice.get("class") for choice in answers.select("ul li")] == [None, ["right"]]


def test_a_page_is_set_and_not_dumped(pages):
    page = pages["student/02_copy_all.html"]
    assert "In [" not in page.get_text()
    assert page.html["lang"]
    assert page.select_one("a.skip")["href"] == "#text"
    assert page.main["id"] == "text"
    assert [h.name for h in page.find_all(re.compile("h[1-6]"))] == ["h1", "h2", "h3", "h2", "h2"]
    assert page.h1.get_text() == "Copy all"
    assert page.select_one(".number").get_text() == "Lesson 02"
    assert page.main.get_text().count("Previous: Look first") == 1, (
        "the header says it, so the text need not"
    )
    assert page.select_one("a[rel=prev]")["href"] == "00_look_first.html"
    assert (
        pages["instructor/00_look_first.html"].select_one("a[rel=next]")["href"]
        == "02_copy_all.html"
    )
    amounts = page.select(".zc-table tbody tr:last-child .amount")
    assert [cell.get_text() for cell in amounts][:2] == ["0\xa0B"] * 2
    assert not page.select_one(".prose table .amount"), "words stay at the left"
    assert page.select_one(".run pre.code .k").get_text() == "def", "code is coloured"
    assert not page.select("pre.code :is(.n, .p, .w)"), "what has no colour of its own isn't marked"
    assert [pre.get_text() for pre in page.select("pre.output")] == [
        "calls  1\nbytes  268,435,456\n"
    ]
    assert page.select_one(".zc-predict")
    assert "model_id" not in str(page)


def test_what_a_notebook_folds_until_it_has_run_stands_open_on_a_page(pages):
    (prose,) = pages["student/02_copy_all.html"].select(".prose:has(h3)")
    assert [tag.name for tag in prose.find_all(recursive=False)] == ["h3", "p"]


def test_index_claims_and_glossary(pages):
    index, claims, glossary = (
        pages[f"student/{name}.html"] for name in ("index", "claims", "glossary")
    )
    assert [title.get_text() for title in index.select(".lessons h3")] == [
        "Look first",
        "Copy all",
    ]
    assert "65\xa0minutes without" in index.get_text()
    assert "75\xa0with" in index.get_text()
    rows = [
        [cell.get_text().strip() for cell in row.find_all(["th", "td"])]
        for row in index.select(".brief tr")
    ]
    assert rows[1:] == [
        ["00 Look first", "15", "–"],
        ["02 Copy all", "50", "10"],
        ["All", "65", "10"],
    ]
    assert [link["href"] for link in claims.select(".contents a")] == [
        "#claims-02",
        "#claims-03-04",
    ]
    assert "#page-cache" in {link["href"] for link in glossary.select(".contents a")}
    assert "why a heap counter" in index.get_text()
    assert "the container is killed" in index.select(".question")[1].get_text()
    assert [link["href"] for link in index.select(".lessons a")] == [
        "00_look_first.html",
        "02_copy_all.html",
    ]
    others = {
        link["href"]
        for link in pages["instructor/index.html"].select("a")
        if link["href"].startswith("../")
    }
    assert {
        "../student/index.html",
        "../student/02_copy_all.html",
        "../worksheet/02_copy_all.html",
    } <= others
    assert pages["instructor/index.html"].select("a[href='02_copy_all_answers.html']")
    listed = [link["href"] for link in pages["worksheet/index.html"].select("a")]
    assert listed == ["00_look_first.html", "02_copy_all.html"]

    assert [heading.get_text() for heading in claims.find_all("h2")] == [
        "Lesson 02: Copy all",
        "Lesson 03 · Lesson 04",
    ]
    assert claims.select_one("#slurp .verdict").get_text() == "Misleading."
    assert claims.select_one("#slurp dd code")
    assert claims.select_one("#slurp a[href^='https://man7']")
    assert glossary.select_one("#page-cache dd")


def test_a_long_course_is_told_in_hours():
    lesson = Lesson("02_x", "X", new_notebook(), "02", minutes=755)
    html = filled(
        "index.html.j2", lessons=[lesson], exercises={lesson.page: 464}, edition="student"
    )
    assert "13&nbsp;hours without the exercises, 20&nbsp;with them" in html


def test_each_edition_has_every_page(pages):
    stems = ("00_look_first", "02_copy_all")
    lessons = {f"{stem}.html" for stem in stems}
    sheets = {f"worksheet/{name}" for name in ("index.html", *lessons)}
    answers = {f"instructor/{stem}_answers.html" for stem in stems}
    assert pages.keys() == sheets | answers | {
        f"{one}/{name}" for one in module.LABELS for name in {*COMMON, *lessons}
    }


def test_a_worksheet_asks_and_the_sheet_of_answers_answers(pages):
    sheet = pages["worksheet/02_copy_all.html"]
    answers = pages["instructor/02_copy_all_answers.html"]
    asked = [" ".join(item.div.get_text().split()) for item in sheet.select(".item")]
    assert "the page cache" in asked[0].split("Predict.")[0], "the end of the prose above"
    question = sample_lessons.PREDICT.question.replace("`", "")
    assert asked[0].split("Predict.")[1].replace(" ", "") == f"{question}MiBmeasured:MiB".replace(
        " ", ""
    )
    assert len(sheet.select("[aria-label^=blank]")) == 2
    assert [choice.get_text() for choice in sheet.select(".zc-quiz p.zc-choice")] == [
        "(a) It is too small",
        "(b) No allocator was asked",
    ]
    assert "def copy(source, target):" in asked[2]
    assert len(sheet.select(".room i")) == 13
    for what in (
        ".zc-figure",
        ".zc-table",
        ".zc-claim",
        ".zc-beside",
        "pre.output",
        ".feedback",
        "[data-right]",
    ):
        assert not sheet.select(what), what
    told = [" ".join(item.div.get_text().split()) for item in answers.select(".item")]
    assert len(told) == len(asked) == 3
    assert "Measured: 256 MiB." in told[0]
    assert "✓ Right. The pages" in told[1]
    assert "solution-only-text" in told[2]
    assert not answers.select(".room, .zc-quiz, .zc-exercise")


@pytest.mark.parametrize("edition", module.LABELS)
def test_what_is_said_to_a_student_at_work_is_not_printed(pages, edition: str):
    text = pages[f"{edition}/02_copy_all.html"].get_text()
    assert "Not attempted" not in text
    assert "No prediction yet" not in text
    assert "Measured: 256 MiB." in text
    assert ("Click an answer." in text) == (edition == "student")


def test_an_appendix_is_made_of_a_notebook_and_checked_as_lessons_are(tmp_path: Path):
    def built(html: str) -> str:
        own = new_notebook(
            cells=[
                new_markdown_cell("# My own\n\nA page fault.", id="own-title"),
                sample_lessons.shows(html, name="own-shows"),
            ]
        )
        nbformat.write(own, tmp_path / OWN_CODE.name)
        folder = tmp_path / "handouts"
        lessons = sample_lessons.write(tmp_path)
        sample_lessons.handouts(lessons, folder, own_code=tmp_path / OWN_CODE.name)
        return (folder / "student" / f"{OWN_CODE.stem}.html").read_text(encoding="utf-8")

    page = BeautifulSoup(built("<p>64 MiB</p><a href='02_copy_all.ipynb'>02</a>"), "html.parser")
    assert [one.get_text() for one in page.select(".opening p:not(.resume), h1")] == [
        "Appendix",
        "My own",
    ]
    assert page.select_one("[data-cell=own-shows]").get_text().strip().endswith("64 MiB02")
    assert page.select_one("a.term").get_text() == "page fault"
    assert page.select("a[href='02_copy_all.html']")
    with pytest.raises(
        HandoutError, match=f"student/{OWN_CODE.stem}.html, cell own-shows: a script"
    ):
        built("<script>1</script>")


def test_edition_and_commit_stand_on_every_page(build, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        module, "released", lambda: Edition("2026-11-22", "1234567890", changed=True)
    )
    labels = {
        "student": "Student edition",
        "worksheet": "Worksheet",
        "instructor": "Instructor edition",
    }
    pages = build(n02_x=sample_lessons.lesson())
    assert "2026-11-22" in pages.pop("worksheet/index.html").get_text()
    for name, page in pages.items():
        label = "Answers" if name.endswith("_answers.html") else labels[name.partition("/")[0]]
        says = f"{label} · 2026-11-22 (1234567, with changes)"
        assert not page.footer or page.select_one("footer .released").get_text() == says
        assert f'@bottom-left {{ content: "{says}" }}' in page.style.get_text(), (
            "on paper there is no footer"
        )


def test_an_edition_for_a_class_has_no_pages_for_instructors(
    build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "CLASS_EDITION", tmp_path / "class-edition.toml")
    (tmp_path / "class-edition.toml").touch()
    monkeypatch.setattr(
        sample_lessons,
        "exercise",
        lambda key: replace(sample_lessons.EXERCISE, solution_source=None),
    )
    pages = build()
    assert {name.partition("/")[0] for name in pages} == {"student", "worksheet"}


# --- reading: contents, minutes, the index --------------------------------------------------------


def test_the_minutes_of_sections_follow_their_work_and_add_up():
    html = f"""
    <div class=prose data-cell=a><p>{"word " * 400}</p>
    <h2 id=one>One</h2><p>{"word " * 200}</p></div>
    <div class=run data-cell=b><pre class=code></pre><div class=zc-predict></div></div>
    <div class="run" data-cell=c><pre class=code></pre>
    <div class=zc-exercise><p>Exercise · 12 minutes</p></div></div>
    <div class="run starter" data-cell=d><pre class=code></pre></div>
    <div class="teacher" data-cell=e><h2 id=note>Note</h2><p>{"word " * 999}</p></div>
    <div class=prose data-cell=f><h3 id=two>Two</h3></div>
    <div class=prose data-cell=g><h2 id=more>Optional, outside the 12 minutes</h2>
    <p>{"word " * 999}</p></div>"""
    opening, one, more = contents(BeautifulSoup(html, "html.parser"), 12)
    assert (opening.anchor, opening.minutes, one.anchor, one.minutes) == ("text", 4, "one", 8)
    assert (one.exercises, [part.anchor for part in one.parts], more.minutes) == (
        12,
        ["two"],
        None,
    )


def test_a_page_lists_its_sections_in_each_edition(pages):
    for edition in ("student", "instructor"):
        page = pages[f"{edition}/02_copy_all.html"]
        assert [link["href"] for link in page.select(".contents a")] == [
            "#text",
            "#Run-it",
            "#Why",
            "#Recap",
        ], edition
        minutes = [
            re.match(r"(\d+|under 1)\xa0min", found.get_text())[1]
            for found in page.select(".minutes")
        ]
        assert sum(int(found) for found in minutes if found != "under 1") == 50
        assert page.select_one(".minutes:-soup-contains('exercises 10')")
    assert not pages["worksheet/02_copy_all.html"].select(".contents"), "paper has page numbers"


def test_a_page_has_our_scripts_and_a_policy_that_lets_no_other_run(pages):
    for name, page in pages.items():
        digests = [
            b64encode(sha256(one.get_text().encode()).digest()).decode()
            for one in page.find_all("script")
        ]
        if "worksheet/" in name or name.endswith("_answers.html"):
            assert not digests, name
        else:
            policy = page.select_one("meta[http-equiv=Content-Security-Policy]")["content"]
            assert digests and all(f"'sha256-{digest}'" in policy for digest in digests), name
            assert (
                policy.count("script-src") == 1
                and "unsafe" not in policy.partition("script-src")[2]
            ), name
            assert policy.startswith("default-src 'none';"), name


def test_only_our_script_may_be_in_a_page_and_only_as_it_is():
    ours = SCRIPTS["reading"]
    for script, problems in (
        (f"<script>{ours}</script>", 0),
        (f"<script>{ours};1</script>", 1),
        (f"<script src='data:,1'>{ours}</script>", 1),
    ):
        assert len(page_problems({"student/a.html": script})) == problems


def test_the_index_offers_a_short_path_whose_sections_are_there(
    build, monkeypatch: pytest.MonkeyPatch
):
    assert not build()["student/index.html"].select("#short-path")
    monkeypatch.setattr(module, "short_path", lambda _: [Part("02", ["Run it"], 50)])
    links = build()["student/index.html"].select("#short-path ~ ol a")
    assert [link["href"] for link in links] == ["02_copy_all.html", "02_copy_all.html#Run-it"]
    monkeypatch.setattr(module, "short_path", lambda _: [Part("02", ["Renamed"], 50)])
    with pytest.raises(
        HandoutError, match=r"student/index.html: link to '02_copy_all.html#Renamed'"
    ):
        build()


def test_the_index_tells_what_is_new(tmp_path: Path):
    news = tmp_path / "CHANGELOG.md"
    said = "### Pages\n\n- **dark** [here](README.md), [there](https://a.org/)"
    news.write_text(
        f"# Changes\n\n## Unreleased\n\n## 1.1\n\n{said}\n\n## 1.0\n\n- old\n", encoding="utf-8"
    )
    title, html = module._news(news)
    tree = BeautifulSoup(html, "html.parser")
    assert title == "1.1"
    assert "old" not in html
    assert tree.strong.get_text() == "dark"
    assert not tree.find(id=True)
    assert tree.li.get_text() == "dark here, there"
    assert [link["href"] for link in tree("a")] == ["https://a.org/"]
    assert module._news(tmp_path / "none.md") is None


# --- glossary -------------------------------------------------------------------------------------


def linked(html: str) -> BeautifulSoup:
    tree = BeautifulSoup(html, "html.parser")
    link_terms(tree, read_terms())
    return tree


def test_the_longest_term_wins_and_only_its_first_use_is_linked():
    tree = linked(
        "<p>The page cache holds pages. A page, the page cache; Page faults, minor faults.</p>"
    )
    assert [(a.get_text(), a["href"]) for a in tree.find_all("a")] == [
        ("page cache", "glossary.html#page-cache"),
        ("pages", "glossary.html#page"),
        ("Page faults", "glossary.html#page-fault"),
        ("minor faults", "glossary.html#minor-fault"),
    ]
    assert (
        tree.get_text()
        == "The page cache holds pages. A page, the page cache; Page faults, minor faults."
    )


@pytest.mark.parametrize(
    "html",
    [
        "<h2>The heap</h2>",
        "<code>heap</code>",
        "<pre>heap</pre>",
        '<a href="#x">a heap</a>',
        "<p>heaped heap-like</p>",
        "<summary>heap</summary>",
        "<figcaption>heap</figcaption>",
        '<div class="teacher"><p>heap</p></div>',
        "<!-- heap -->",
    ],
)
def test_terms_are_linked_in_prose_only(html: str):
    assert not linked(html).select("a.term")
    assert len(linked(f"{html}<p>The heap.</p>").select("a.term")) == 1


def test_everyday_words_are_linked_where_they_are_terms():
    tree = linked("<p>In other words, swap them. Two <strong>words</strong>: sixteen bytes.</p>")
    assert [(a.get_text(), a.parent.name) for a in tree.find_all("a")] == [("words", "strong")]


def test_the_glossary_is_one_sentence_a_term():
    terms = {term.name: term for term in read_terms(GLOSSARY)}
    assert len({term.anchor for term in terms.values()}) == len(terms)
    for term in terms.values():
        assert re.fullmatch(r"[^.]*(\.\S[^.]*)*\.", term.means), (
            f"{term.name}: not one sentence: {term.means}"
        )


# --- what stops a build ---------------------------------------------------------------------------


@each_of(
    ("html", "words"),
    ("<img src='data:,'>", "no real alternative text ('')"),
    ("<img src='data:,' alt='Figure 3'>", "no real alternative text"),
    ("<img src='curve.png' alt='Memory rises to 256 MiB'>", "<img> loads curve.png"),
    ("<p style='background: url(https://a.org/b.png)'>x</p>", "<p> loads"),
    ("<style>@import 'x.css'</style>", "<style> loads"),
    ("<link rel='stylesheet' href='https://a.org/x.css'>", "<link> loads https://a.org/x.css"),
    ("<script>1</script>", "a script"),
    (f"<script>{SCRIPTS['reading']}</script>", "a script"),
    ("<svg onload='1'></svg>", "a script"),
    ("<a href=' JavaScript:1'>x</a>", "a script"),
    ("<p id='x'>a</p><p id='x'>b</p>", "id='x' is there already"),
    ("<a href='03_later.ipynb'>x</a>", "link to '03_later.ipynb', which is not a handout"),
    ("<a href='#nowhere'>x</a>", "link to '#nowhere', but there is no such place"),
    (
        "<a href='../instructor/index.html'>x</a>",
        "link to '../instructor/index.html', out of its folder",
    ),
    (f"<p>in {ROOT}/data</p>", f"names '{ROOT}', a folder of this machine"),
    (f"<p title='{generated()}/a.bin'>x</p>", f"names '{generated()}', a folder of this machine"),
)
def test_what_spoils_a_page_is_named_with_its_cell(build, html: str, words: str):
    with pytest.raises(HandoutError, match=re.escape(words)) as refusal:
        build(n02_x=sample_lessons.lesson(sample_lessons.shows(html, name="look-here")))
    assert "student/02_x.html, cell look-here: " in str(refusal.value)


def test_a_page_names_no_home_but_may_name_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pages = {"student/a.html": f"<p>{tmp_path}/.cache/a.bin</p><p>/tmp/a, {tmp_path}-not/a</p>"}
    for home, names in ((str(tmp_path), 1), ("/", 0), ("/tmp", 0)):
        monkeypatch.setenv("HOME", home)
        assert len(page_problems(pages)) == names, home


@each_of(
    ("output", "words"),
    (
        new_output("error", ename="OSError", evalue="no space", traceback=[]),
        "ends in OSError: no space",
    ),
    (
        new_output("stream", name="stderr", text="x.py:1\n  FutureWarning: soon\n"),
        "'FutureWarning: soon'",
    ),
    (
        new_output(
            "display_data",
            {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "IntSlider()"},
        ),
        "a widget without a picture",
    ),
    (
        new_output("display_data", {"image/png": "iVBO", "text/plain": "<Figure>"}),
        "an image without alternative",
    ),
)
def test_outputs_nobody_should_meet_are_named(build, output, words: str):
    with pytest.raises(HandoutError, match=re.escape(words)) as refusal:
        build(n02_x=sample_lessons.lesson(new_code_cell("x", id="look-here", outputs=[output])))
    assert str(refusal.value).startswith("02_x.ipynb, cell look-here: ")


def test_an_empty_output_is_left_out(build):
    cell = new_code_cell(
        "x", id="look-here", outputs=[new_output("display_data", {"text/html": ""})]
    )  # a progress bar
    page = build(n02_x=sample_lessons.lesson(cell))["student/02_x.html"]
    assert page.select_one("[data-cell=look-here] pre.code")
    assert not page.select("[data-cell=look-here] .output")


@pytest.mark.parametrize("gone", ["# 00", "15 minutes", "You will learn"])
def test_an_opening_that_lacks_something_is_refused(build, gone: str):
    opening = new_markdown_cell(sample_lessons.OPENING.replace(gone, "x"), id="look-opening")
    with pytest.raises(HandoutError, match=r"02_x\.ipynb: the opening needs a first line"):
        build(n02_x=new_notebook(cells=[opening]))


def test_a_refused_build_leaves_the_last_one_and_a_new_one_takes_its_place(build, tmp_path: Path):
    build(n02_x=sample_lessons.lesson())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "handouts").rglob("*")}
    with pytest.raises(HandoutError, match=r"(?s)a script.*loads x"):
        build(
            n02_x=sample_lessons.lesson(
                sample_lessons.shows("<script></script><img src='x' alt='A curve'>")
            )
        )
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "handouts").rglob("*")} == before
    assert sorted(os.listdir(tmp_path)) == ["02_x.ipynb", "claims.toml", "handouts"]
    build(n03_y=sample_lessons.lesson())
    for edition in module.LABELS:
        more = ["03_y_answers.html"] if edition == "instructor" else []
        assert sorted(os.listdir(tmp_path / "handouts" / edition)) == sorted(
            ["03_y.html", *more, *COMMON]
        )


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "handouts"
    rename = Path.rename
    (tmp_path / ".handouts-01234567.partial" / "new").mkdir(parents=True)
    write_folder(folder, {"index.html": b"0", "old/page.html": b""})
    write_folder(folder, {"index.html": b"1", "new/page.html": b""})
    assert (folder / "index.html").read_bytes() == b"1"
    assert sorted(os.listdir(folder)) == [
        "index.html",
        "new",
    ]

    def fails(old: Path, new: Path) -> None:
        if old.name == "new":
            raise OSError("it's in use")
        rename(old, new)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="in use"):
        write_folder(folder, {"index.html": b"2"})
    assert (folder / "index.html").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["handouts"]


def test_notes_for_teachers_come_from_a_file_of_their_own(tmp_path: Path):
    (executed_copy,) = [
        path for path in sample_lessons.write(tmp_path) if path.name.startswith("02")
    ]
    cell = next(
        cell.id for cell in nbformat.read(executed_copy, 4).cells if cell.cell_type == "code"
    )
    note = tmp_path / f"{executed_copy.stem}.md"
    note.write_text(
        f"# Notes\n\nNot shown.\n\n## {cell}\n\n**Ask:** who-guessed?\n\n## Of it all\n\nWords.\n",
        "utf-8",
    )
    lesson = read(executed_copy, tmp_path)
    after = lesson.notebook.cells[[c.id for c in lesson.notebook.cells].index(cell) + 1]
    assert after.source == "**Ask:** who-guessed?"
    assert "who-guessed" not in str(body(lesson, "student", None))
    assert lesson.notebook.cells[-1].source == "## Of it all\n\nWords.", (
        "what is no cell's ends the lesson"
    )
    assert not body(lesson, "student", None).select(".teacher")
    note.write_text("## no-such-cell\n\nText.\n", encoding="utf-8")
    with pytest.raises(
        HandoutError, match="a note for 'no-such-cell', but the lesson has no such cell"
    ):
        read(executed_copy, tmp_path)
