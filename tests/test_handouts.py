"""Handouts in a real browser with the network closed: on a desk, on a phone, for a screen reader and on paper.

The same tests run over two sample lessons that hold every kind of output, and over the real lessons.
"""

import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
import sample_lessons
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, ViewportSize
from pypdf import PdfReader
from test_publish import CLAIMS

from helpers.folders import BUILD
from helpers.publish import handouts, lessons
from helpers.teach.exercises import exercises

COMMON = ("index.html", "claims.html", "glossary.html", "rust.html")
DESK = {"width": 1280, "height": 720}
PHONE = {"width": 375, "height": 740}
PAPER = {"width": 627, "height": 949}  # A4 within our margins, in CSS pixels

pytestmark = pytest.mark.browser


def names(stems: list[str]) -> list[str]:
    return [*COMMON, *(f"{stem}{edition}.html" for stem in stems for edition in ("", "-instructor"))]


SAMPLE = names(["00_look_first", "02_copy_all"])
REAL = names([lesson.stem for lesson in lessons()])
STUDENTS = [name for name in REAL if "-instructor" not in name]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    notebooks = sample_lessons.write(folder)
    handouts(notebooks, folder / "handouts", exercise=sample_lessons.exercise, claims=folder / "claims.toml")
    return folder / "handouts"


@pytest.fixture(scope="module")
def real() -> Path:
    """What `make handouts` makes."""
    made = subprocess.run([sys.executable, "-m", "helpers.publish"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"{len(REAL)} pages from {len(lessons())} lessons")
    assert made.stdout.strip().endswith(str(BUILD / "handouts" / "index.html"))
    return BUILD / "handouts"


@contextmanager
def lone_page(browser: Browser) -> Iterator[Page]:
    """A page that loads nothing but itself, and whose complaints are kept: `page.requests`, `page.complaints`."""
    context = browser.new_context()
    page = context.new_page()
    page.requests, page.complaints = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    context.route(re.compile("^(?!file:|data:)"), lambda route: route.abort())
    yield page
    context.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with lone_page(browser) as page:
        yield page


def each(sample: list[str], real: list[str]) -> pytest.MarkDecorator:
    """These pages of the sample lessons and of the real ones."""
    made = [pytest.param(("sample", name), id=f"sample-{name}") for name in sample]
    made += [pytest.param(("real", name), id=name, marks=pytest.mark.notebooks) for name in real]
    return pytest.mark.parametrize("handout", made, indirect=True, scope="module")


@pytest.fixture(scope="module")
def handout(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """Loaded once for all tests of this handout; each of them says on what it is shown."""
    kind, name = request.param
    path = request.getfixturevalue(kind) / name
    with lone_page(browser) as page:
        page.goto(path.as_uri())
        yield page


def show(page: Page, size: ViewportSize, on: Literal["screen", "print"] = "screen") -> None:
    page.emulate_media(media=on)
    page.set_viewport_size(size)


@each(SAMPLE, REAL)
def test_a_handout_stands_alone(handout: Page):
    assert [url for url in handout.requests if not url.startswith("data:")] == [handout.url]
    for alt in handout.eval_on_selector_all("img", "images => images.map(image => image.alt)"):
        assert len(alt.split()) > 3 and "no description" not in alt.lower(), f"no real alternative text: {alt!r}"
    assert handout.complaints == []


@each(["02_copy_all-instructor.html"], STUDENTS)  # of every template one, and every page that students get
def test_a_handout_is_accessible(handout: Page):
    show(handout, DESK)
    found = Axe().run(handout)
    assert found.violations_count == 0, found.generate_report()
    assert handout.complaints == []


@each(SAMPLE, REAL)
def test_a_handout_fits_a_phone(handout: Page):
    show(handout, PHONE)
    assert handout.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@each(SAMPLE, REAL)
def test_a_handout_prints_with_nothing_clipped(handout: Page):
    show(handout, PAPER, on="print")
    clipped = handout.eval_on_selector_all(
        "pre, .scroll, figure, main",
        "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.outerHTML.slice(0, 200))",
    )
    assert clipped == []
    code = handout.eval_on_selector_all("pre", "boxes => boxes.map(box => box.textContent)")
    paper = handout.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    pdf = PdfReader(io.BytesIO(paper))
    text = dense(words_of(paper))
    lost = [line for block in code for line in block.splitlines() if dense(line)[-20:] not in text]
    assert lost == [], "lines of code whose end is not on paper"
    width, height = (float(length) for length in pdf.pages[0].mediabox[2:])
    assert (round(width), round(height)) == (595, 842), "not A4"
    assert pdf.outline and pdf.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert f"{len(pdf.pages)}/{len(pdf.pages)}" in dense(pdf.pages[-1].extract_text()), "pages are not numbered"


def test_a_choice_answers_a_click_and_paper_answers_at_the_end(page: Page, sample: Path):
    page.goto((sample / "02_copy_all.html").as_uri())
    feedback = page.locator(".zc-choice p").first
    assert not feedback.is_visible() and not page.locator(".answers").is_visible()
    page.locator(".zc-choice summary").first.click()
    assert feedback.is_visible()
    page.emulate_media(media="print")
    assert not feedback.is_visible() and page.locator(".answers").is_visible()
    assert page.locator("text=A hidden line").is_visible(), "what a click opens on screen is open on paper"


@pytest.mark.notebooks
def test_no_student_page_holds_a_solution(real: Path):
    for handout in real.glob("[0-9][0-9]_*.html"):
        text = dense(BeautifulSoup(handout.read_text(encoding="utf-8"), "html.parser").get_text())
        for found in exercises():
            if found.key[:2] == handout.name[:2]:
                assert (dense(found.solution_source) in text) is handout.stem.endswith("-instructor"), found.key


def test_lines_have_the_length_of_a_book_s(page: Page, sample: Path):
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto((sample / "02_copy_all.html").as_uri())
    paragraph = page.locator(".prose p", has_text="Three methods").first
    lines = paragraph.evaluate("p => p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight)")
    assert 60 <= len(" ".join(paragraph.inner_text().split())) / lines <= 75


def test_notes_stand_beside_the_text_where_there_is_room(page: Page, sample: Path):
    page.goto((sample / "02_copy_all-instructor.html").as_uri())
    for width, beside in ((1200, True), (700, False)):
        page.set_viewport_size({"width": width, "height": 900})
        note, text = (page.locator(selector).first.bounding_box() for selector in (".teacher", "pre.code"))
        assert (note["x"] >= text["x"] + text["width"]) is beside


def words_of(pdf: bytes) -> str:
    """What stands on paper. Poppler reads a lesson in a tenth of a second; pypdf, which is always there, in two."""
    if tool := shutil.which("pdftotext"):
        return subprocess.run([tool, "-raw", "-", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    return "".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(pdf)).pages)


def dense(text: str) -> str:
    """Without white space, which a PDF keeps no account of."""
    return re.sub(r"\s", "", text)
