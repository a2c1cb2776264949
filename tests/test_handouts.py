"""Handouts in a real browser with the network closed: on a desk, on a phone, for a screen reader
and on paper.

The same tests run over two sample lessons that hold every kind of output, and over the real ones.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
import sample_lessons
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Page, ViewportSize, expect
from pypdf import PdfReader
from pypdf.generic import Destination
from test_publish import COMMON, made

from helpers.folders import BUILD, ROOT
from helpers.publish import HandoutError, lessons
from helpers.publish import book as book_module
from helpers.publish.book import LEFT_OUT, book, chapters, chromium, read_places
from helpers.publish.lesson import inline, markdown, read
from helpers.teach.exercises import exercises

DESK = {"width": 1280, "height": 720}
PHONE = {"width": 375, "height": 740}
PAPER = {"width": 627, "height": 949}  # A4 within our margins, in CSS pixels

pytestmark = pytest.mark.slow


expect.set_options(timeout=60_000)  # a page may be late when other tests run beside it


def names(edition: str, stems: list[str], common: tuple[str, ...] = ("index.html",)) -> list[str]:
    return [f"{edition}/{name}" for name in (*common, *(f"{stem}.html" for stem in stems))]


STEMS = [lesson.stem for lesson in lessons()]
STUDENTS = names("student", STEMS, COMMON)
WORKSHEETS = [
    *names("worksheet", STEMS),
    *(f"instructor/{stem}_answers.html" for stem in STEMS[:3]),
]
REAL = [*STUDENTS, *names("instructor", STEMS[:3]), *WORKSHEETS]
OTHERS = [
    *names("worksheet", ["02_copy_all"]),
    *names("instructor", ["02_copy_all", "02_copy_all_answers"]),
]
SAMPLE = [*names("student", ["00_look_first", "02_copy_all"], COMMON), *OTHERS]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    made(folder)
    return folder / "handouts"


@pytest.fixture(scope="module")
def real() -> Path:
    """What `make handouts` makes, of the lessons as test_lessons.py has run them, where it has."""
    made = subprocess.run([sys.executable, "-m", "helpers.publish"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(
        f"{2 * len(STUDENTS) + 2 * len(STEMS) + 1} pages from {len(STEMS)} lessons"
    )
    begin = [
        BUILD / "handouts" / edition / "index.html"
        for edition in ("instructor", "student", "worksheet")
    ]
    assert made.stdout.split()[-3:] == [str(index) for index in begin]
    return BUILD / "handouts"


@contextmanager
def lone_page(browser: Browser) -> Iterator[Page]:
    """A page that can't load anything else; `page.requests` and `page.complaints` keep what it
    tried and said.
    """
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
    """Loaded once for all tests of this handout; each test says how it's shown."""
    kind, name = request.param
    with lone_page(browser) as page:
        page.goto((request.getfixturevalue(kind) / name).as_uri())
        yield page


def show(page: Page, size: ViewportSize, on: str = "screen", colours: str = "light") -> None:
    page.emulate_media(media=on, color_scheme=colours)
    page.set_viewport_size(size)


@each(SAMPLE, REAL)
def test_a_handout_stands_alone(handout: Page):
    assert [url for url in handout.requests if not url.startswith("data:")] == [handout.url]
    for alt in handout.eval_on_selector_all("img", "images => images.map(image => image.alt)"):
        assert len(alt.split()) > 3 and "no description" not in alt.lower(), (
            f"no real alternative text: {alt!r}"
        )
    assert handout.complaints == []
    most = 2_000_000 if handout.url.endswith("/search.html") else 1_000_000
    assert len(handout.content().encode()) < most, "a handout goes into a mail"


@pytest.mark.notebooks
def test_the_sample_is_made_of_all_that_the_real_pages_are_made_of(sample: Path, real: Path):
    """So what holds of each element of the sample's pages holds of theirs, and needn't be tried on
    each of them.
    """
    assert elements(real) - elements(sample) == set()


def elements(folder: Path) -> set[tuple[str, ...]]:
    """Each kind of element in a folder's pages: its name, and its classes."""
    trees = (
        BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in folder.rglob("*.html")
    )
    return {
        (tag.name, *sorted(tag.get("class", ()))) for tree in trees for tag in tree.find_all(True)
    }


@each(SAMPLE, [])
def test_a_handout_is_accessible(handout: Page):
    for size, colours in ((DESK, "light"), (DESK, "dark"), (PHONE, "dark")):
        show(handout, size, colours=colours)
        found = Axe().run(handout)
        assert found.violations_count == 0, f"{colours}: {found.generate_report()}"
    assert handout.complaints == []


@each(SAMPLE, REAL)
def test_a_handout_fits_a_phone(handout: Page):
    show(handout, PHONE)
    assert handout.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@each(SAMPLE, [])
def test_a_handout_prints_with_nothing_clipped(handout: Page):
    show(handout, PAPER, on="print")
    clipped = handout.eval_on_selector_all(
        "pre, .scroll, figure, main",
        "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => "
        "box.outerHTML.slice(0, 200))",
    )
    assert clipped == []
    code = handout.eval_on_selector_all(
        "pre",
        "boxes => boxes.filter(box => box.checkVisibility() || !box.closest('.folded')).map(box => "
        "box.textContent)",
    )
    paper = handout.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    pdf = PdfReader(io.BytesIO(paper))
    text = dense("".join(words_of(paper)))
    lost = [line for block in code for line in block.splitlines() if dense(line)[-20:] not in text]
    assert lost == [], "lines of code whose end is not on paper"
    width, height = (float(length) for length in pdf.pages[0].mediabox[2:])
    assert (round(width), round(height)) == (595, 842), "not A4"
    assert len(pdf.pages) == 1 or "desk_sheet" not in handout.url
    assert pdf.outline
    assert pdf.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert f"{len(pdf.pages)}/{len(pdf.pages)}" in dense(pdf.pages[-1].extract_text()), (
        "pages are not numbered"
    )


def test_a_choice_answers_a_click_and_paper_answers_at_the_end(page: Page, sample: Path):
    page.goto((sample / "student/02_copy_all.html").as_uri())
    feedback = page.locator(".zc-choice p").first
    assert not feedback.is_visible()
    assert not page.locator(".answers").is_visible()
    page.locator(".zc-choice summary").first.click()
    assert feedback.is_visible()
    page.emulate_media(media="print")
    assert not feedback.is_visible()
    assert page.locator(".answers").is_visible()
    assert page.locator("text=A hidden line").is_visible(), (
        "what a click opens on screen is open on paper"
    )


def test_what_is_folded_on_screen_is_on_paper_for_instructors_only(page: Page, sample: Path):
    for edition, printed in {"student": False, "instructor": True}.items():
        page.goto((sample / edition / "02_copy_all.html").as_uri())
        page.emulate_media(media="print")
        assert page.locator(".folded pre", has_text="import shutil").is_visible() is printed, (
            edition
        )


@pytest.mark.notebooks
def test_only_a_page_for_instructors_holds_an_answer_or_a_note(real: Path):
    everywhere = {
        path: dense(text_of(path.read_text(encoding="utf-8"))) for path in real.rglob("*.html")
    }
    everywhere |= {path: dense(searched(path)) for path in real.glob("*/search.html")}
    for lesson in lessons():
        cells = read(BUILD / "executed" / lesson.name).notebook.cells
        notes = [cell for cell in cells if "teacher" in cell.metadata.get("tags", ())]
        secrets = {f"note {note.id}": text_of(markdown(note)) for note in notes}
        for found in exercises():
            if found.key[:2] == lesson.name[:2]:
                secrets |= {f"{found.key} {answer.name}": answer.body for answer in found.wrong}
                for n, hint in enumerate(found.hints, 1):
                    secrets[f"{found.key} hint {n}"] = text_of(inline(hint.text))
                secrets[f"{found.key} solution"] = found.solution_source
        secrets.pop("02.hidden as_it_was", None)  # the prompt itself shows this answer
        for name, secret in secrets.items():
            holding = {path for path, text in everywhere.items() if dense(secret) in text}
            stems = [
                lesson.stem,
                "search",
                *([f"{lesson.stem}_answers"] if name.endswith("solution") else []),
            ]
            assert holding == {real / "instructor" / f"{stem}.html" for stem in stems}, name


def is_dark(page: Page) -> bool:
    """Is it written in a light colour? Whether it can be read on its paper, axe says."""
    return (
        sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).color"))))
        > 3 * 128
    )


def test_the_colours_are_the_system_s_or_those_that_the_reader_chose(page: Page, sample: Path):
    page.goto((sample / "student/02_copy_all.html").as_uri())
    for system in ("light", "dark"):
        for chosen, dark in (("", system == "dark"), ("light", False), ("dark", True)):
            show(page, DESK, colours=system)
            page.get_by_label("Colours").select_option(chosen)
            assert is_dark(page) is dark, (system, chosen)
            looks = page.locator("figure img").first.evaluate(
                "image => getComputedStyle(image).filter"
            )
            assert ("invert" in looks) is dark, "a picture that is drawn on white"
            show(page, PAPER, on="print", colours=system)
            assert not is_dark(page), "on paper"
    show(page, DESK)
    page.goto((sample / "student/index.html").as_uri())
    assert is_dark(page) and page.get_by_label("Colours").input_value() == "dark", "remembered"


def test_the_list_of_sections_follows_the_reader(page: Page, sample: Path):
    page.goto((sample / "student/02_copy_all.html").as_uri())
    current = page.locator(".contents [aria-current]")
    for size in (DESK, PHONE):
        show(page, size)
        page.evaluate("document.getElementById('Recap').scrollIntoView()")
        expect(current).to_have_text("Recap")
        page.evaluate("scrollTo(0, 0)")
        expect(current).to_have_text("Opening")
    expect(page.locator(".contents ol").first, "folded on a phone").to_be_hidden()
    page.locator(".contents summary").press("Enter")
    page.locator(".contents a", has_text="Run it").press("Enter")
    expect(current).to_have_text("Run it")
    expect(page.locator(".contents summary")).to_contain_text("Run it")
    below = page.evaluate("document.getElementById('Run-it').getBoundingClientRect().top")
    assert below >= page.locator(".contents").bounding_box()["height"], "the list covers no heading"
    show(page, DESK)
    expect(page.locator(".contents ol").first).to_be_visible()
    aside = page.locator(".contents").bounding_box()
    text = page.locator("main").bounding_box()
    assert aside["x"] + aside["width"] <= text["x"]


def test_a_lesson_is_found_again_where_it_was_left(page: Page, sample: Path):
    lesson, index = (
        (sample / "student" / name).as_uri() for name in ("02_copy_all.html", "index.html")
    )
    show(page, DESK)
    page.goto(lesson)
    offered = page.locator(".resume")
    assert not offered.is_visible(), "nothing was left yet"
    page.locator("#cell-copy-quiz").evaluate("cell => cell.scrollIntoView()")
    page.goto(index)
    expect(offered).to_have_text("Go on where you stopped: Copy all, Why")
    page.goto(lesson)
    assert page.evaluate("scrollY") == 0, "no jump by itself"
    expect(offered).to_have_text("Go on where you stopped: Why")
    offered.get_by_role("link").click()
    expect(page.locator("#cell-copy-quiz")).to_be_in_viewport()
    page.goto(index)
    page.evaluate("for (const key of Object.keys(localStorage)) localStorage[key] = '{'")
    page.reload()
    assert not offered.is_visible() and page.complaints == [], "what it can't read, it leaves alone"


def test_a_tap_on_a_figure_shows_its_full_size_on_a_phone(page: Page, sample: Path):
    show(page, PHONE)
    page.goto((sample / "student/02_copy_all.html").as_uri())
    image = page.locator(".zc-figure img")
    # as it was drawn, 6.8 inches wide; and as before
    for width in (6.8 * 96, image.bounding_box()["width"]):
        image.click()
        assert round(image.bounding_box()["width"]) == round(width)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.get_by_label("Full size of figure 1").is_visible()
    show(page, DESK)
    assert not page.get_by_label("Full size of figure 1").is_visible(), "it has its full size"


def test_all_can_be_read_without_javascript(browser: Browser, sample: Path):
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)
    page = context.new_page()
    page.goto((sample / "student/02_copy_all.html").as_uri())
    page.locator(".contents summary").click()
    page.locator(".contents a", has_text="Recap").click()
    expect(page.locator("#Recap")).to_be_in_viewport()
    page.locator(".zc-figure img").click()
    assert page.locator(".zc-figure img").bounding_box()["width"] > 600
    page.get_by_label("Colours").select_option("dark")
    assert is_dark(page)
    assert not page.locator(".resume").is_visible()
    page.set_viewport_size(DESK)
    page.reload()
    page.locator(".contents a", has_text="Run it").click()
    expect(page.locator("#Run-it")).to_be_in_viewport()
    context.close()


def test_the_keyboard_comes_to_the_text_first_and_sees_where_it_is(page: Page, sample: Path):
    page.goto((sample / "student/02_copy_all.html").as_uri())
    stops = []
    for _ in range(12):
        page.keyboard.press("Tab")
        focus = page.evaluate_handle("document.activeElement")
        stops.append(focus.evaluate("one => one.textContent.trim().split('\\n')[0]"))
        assert focus.evaluate("one => getComputedStyle(one).outlineStyle") != "none", stops[-1]
    assert stops[0] == "Skip to the text" and stops[-1].startswith("On this page"), stops
    assert (
        page.get_by_role("navigation", name="On this page").count()
        == page.get_by_role("main").count()
        == 1
    )
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null"), "the text is next"


def test_a_case_is_opened_by_a_link_and_by_what_is_typed(page: Page, sample: Path):
    page.goto((sample / "student/casebook.html").as_uri())
    opened = page.locator(".case details[open]")
    expect(opened).to_have_count(0)
    page.get_by_text("Bus error", exact=True).last.click()
    page.locator(".answer[open] a").first.click()
    expect(opened.locator("h3")).to_contain_text("Bus error (core dumped)")
    page.get_by_role("searchbox").fill("I keep few rows and have all files in memory")
    page.keyboard.press("Enter")
    expect(opened).to_have_count(2)
    expect(page.locator(":target h3")).to_contain_text("I keep ten rows of each file")
    assert page.complaints == []


@each(names("worksheet", ["02_copy_all"], ()), names("worksheet", STEMS, ()))
def test_a_worksheet_asks_all_on_seven_pages_and_tells_nothing(handout: Page):
    stem = Path(handout.url).stem
    path = BUILD / "executed" / f"{stem}.ipynb"
    notebook = sample_lessons.copy_all() if stem == "02_copy_all" else read(path).notebook
    tree = BeautifulSoup("".join(shown_in(notebook)), "html.parser")
    show(handout, PAPER, on="print")
    sheet = dense(handout.locator("main").inner_text())
    asked = tree.select(".zc-predict > p, .zc-quiz summary, .zc-question strong, .zc-exercise > *")
    assert [tag for tag in asked if dense(plain(tag)) not in sheet] == []
    rooms = handout.eval_on_selector_all(
        ".room", "rooms => rooms.map(room => room.getBoundingClientRect().height)"
    )
    assert len(rooms) == len(tree.select(".zc-exercise")) and all(
        height > 240 for height in rooms
    ), "ten lines of pen"
    assert "defon_write(values):" in sheet or not stem.startswith("05"), (
        "the code that a question is about"
    )
    secrets = ".zc-beside, .zc-claim dd, figcaption, details > :not(summary)"
    told = [dense(tag.get_text()) for tag in tree.select(secrets)]
    assert [text for text in told if len(text) > 12 and text in sheet] == []
    assert not handout.locator("main :is(figure, table.zc-table, .output, .solution)").count()
    assert len(PdfReader(io.BytesIO(handout.pdf(prefer_css_page_size=True))).pages) <= 7


@each(["student/index.html"], ["student/index.html"])
def test_the_book_is_whole(handout: Page, tmp_path: Path):
    folder = Path(handout.url.removeprefix("file://")).parent
    path = tmp_path / "made" / "book.pdf"
    count = book(folder, path, browser=chromium())
    pdf = PdfReader(path)
    sheets = [dense(text) for text in words_of(path.read_bytes())]
    assert count == len(pdf.pages) <= 750
    assert path.stat().st_size <= 25e6
    assert os.listdir(path.parent) == ["book.pdf"]
    assert pdf.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert pdf.trailer["/Root"]["/Lang"] == "en-GB"

    made = chapters(folder)
    assert made[-1].name == "glossary"
    assert len(made) == len([*folder.glob("*.html")]) - len(LEFT_OUT)
    places, _ = read_places(path.read_bytes())
    contents = "".join(sheets[1 : places[made[0].name] - 1])
    entries = [entry for one in made for entry in ((one.name, one.title), *one.sections)]
    for (anchor, text), (_, after) in zip(entries, [*entries[1:], ("", "$")], strict=True):
        place = places[anchor]
        assert dense(text).lstrip("0123456789") in sheets[place - 1], (
            f"{text} isn't on page {place}"
        )
        entry = rf"{re.escape(dense(text))}{place}(?={re.escape(dense(after))}|\D|$)"
        assert re.search(entry, contents), f"{text}, {place} isn't in the contents"
    assert dense(made[1].title) in sheets[places[made[1].name]][:200], "the running head"

    outline = [entry.title for entry in flat(pdf.outline)]
    assert outline == ["Contents", *(text for _, text in entries)]
    sections = [entry for entry in pdf.outline if isinstance(entry, list)]
    assert [len(each) for each in sections] == [len(one.sections) for one in made if one.sections]
    links = [note.get_object() for sheet in pdf.pages for note in sheet.get("/Annots", ())]
    inside = {link["/Dest"].lstrip("/") for link in links if "/Dest" in link}
    away = [link["/A"]["/URI"] for link in links if "/URI" in link.get("/A", ())]
    assert {anchor for one in made for anchor, _ in one.sections} <= inside <= set(places)
    assert away and all(address.startswith("http") for address in away), (
        "no link to a file of this machine"
    )
    printed = "a[href^='#']:not(.zc-choice a)"
    wanted = {
        link["href"][1:]
        for one in made
        for link in BeautifulSoup(one.html, "html.parser").select(printed)
    }
    assert wanted <= inside, "links from page to page"
    assert fonts_in(pdf)
    assert not [name for name, embedded in fonts_in(pdf) if not embedded]


def flat(outline: list) -> Iterator[Destination]:
    for entry in outline:
        yield from flat(entry) if isinstance(entry, list) else [entry]


def fonts_in(pdf: PdfReader) -> set[tuple[str, bool]]:
    """The fonts by name, and whether they are embedded; one drawn by the PDF itself (Type 3) needs
    no file.
    """
    found = set()
    for sheet in pdf.pages:
        for font in sheet["/Resources"].get("/Font", {}).values():
            font = font.get_object()
            kind = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
            file = any(name.startswith("/FontFile") for name in kind.get("/FontDescriptor", {}))
            found.add((font.get("/BaseFont", ""), file or font["/Subtype"] == "/Type3"))
    return found


def test_without_a_browser_the_book_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(
        book_module, "write_handouts", lambda: pytest.fail("minutes of work, for nothing")
    )
    with pytest.raises(SystemExit, match=f"^{re.escape(book_module.NO_BROWSER)}$"):
        book_module.main()


def test_a_browser_that_fails_is_quoted_and_no_book_stays(sample: Path, tmp_path: Path):
    for browser in ("false", "true"):
        with pytest.raises(HandoutError, match=f"{browser} printed nothing; it says: nothing"):
            book(sample / "student", tmp_path / "book.pdf", browser=shutil.which(browser))
    assert os.listdir(tmp_path) == []


def test_lines_have_the_length_of_a_book_s(page: Page, sample: Path):
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto((sample / "student/02_copy_all.html").as_uri())
    paragraph = page.locator(".prose p", has_text="Three methods").first
    lines = paragraph.evaluate(
        "p => p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight)"
    )
    assert 60 <= len(" ".join(paragraph.inner_text().split())) / lines <= 75


def test_notes_stand_beside_the_text_where_there_is_room(page: Page, sample: Path):
    page.goto((sample / "instructor/02_copy_all.html").as_uri())
    for width, beside in ((1200, True), (700, False)):
        page.set_viewport_size({"width": width, "height": 900})
        note, text = (
            page.locator(selector).first.bounding_box() for selector in (".teacher", "pre.code")
        )
        assert (note["x"] >= text["x"] + text["width"]) is beside


def hits(page: Page, asked: str) -> list[str]:
    """Where the sections lead that are found, the best first."""
    page.get_by_role("searchbox").fill(asked)
    return page.eval_on_selector_all(
        "#hits a", "links => links.map(link => link.getAttribute('href'))"
    )


@pytest.mark.notebooks
def test_most_queries_have_the_right_section_among_the_first_three(page: Page, real: Path):
    asked = tomllib.loads((ROOT / "tests" / "search_queries.toml").read_text(encoding="utf-8"))
    search = real / "student/search.html"
    page.goto(search.as_uri())
    for kind, number, most in (("query", 30, 3), ("question", 40, 4)):
        missed = [
            one["asked"]
            for one in asked[kind]
            if not {*hits(page, one["asked"])[:3]} & {*one["right"]}
        ]
        assert len(asked[kind]) == number and len(missed) <= most, missed
    assert search.stat().st_size <= 2_000_000
    assert page.complaints == []


def test_a_hit_names_its_section_and_marks_what_matches(page: Page, sample: Path):
    page.goto((sample / "student/search.html").as_uri())
    for asked, first, marked in (
        ("slurped = file.read()", "02_copy_all.html#Run-it", "slurped = file.read()"),
        ("“CAN only  save”", "02_copy_all.html#Run-it", "can only save"),
        ("268435456", "02_copy_all.html#Run-it", "268435456"),
        ("filebacked", "glossary.html#file-backed-memory", "file-backed"),
        ("page fualt", "glossary.html#page-fault", "fault"),
        ("anonym", "glossary.html#anonymous-memory", "anonymous"),
        ("what is a yoke", "glossary.html#yoke", "yoke"),
        ("how do I hand in my work", "index.html#hand-in", "hand_in"),
        ("hidden line", "02_copy_all.html#Recap", "hidden line"),
        ("file's size", "claims.html#slurp", "file's size"),
    ):
        assert hits(page, asked)[0] == first, asked
        item = page.locator("#hits li").first
        assert marked in item.locator("mark").all_inner_texts(), asked
        assert item.locator("span").inner_text() in (
            "02 Copy all",
            "Glossary",
            "Claims",
            "Lessons",
        )


def test_the_keyboard_is_enough_to_search(page: Page, sample: Path):
    page.goto((sample / "student/search.html").as_uri())
    box, status, links = (
        page.get_by_role("searchbox"),
        page.get_by_role("status"),
        page.locator("#hits a"),
    )
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("pages")
    expect(status).to_have_text(re.compile(r"^\d+ sections\b"))
    assert Axe().run(page).violations_count == 0
    for key, focused in (
        ("ArrowDown", links.nth(0)),
        ("ArrowDown", links.nth(1)),
        ("ArrowUp", links.nth(0)),
        ("Tab", links.nth(1)),
        ("/", box),
    ):
        page.keyboard.press(key)
        expect(focused).to_be_focused()
    links.nth(1).focus()
    page.keyboard.type("qqq")
    expect(box).to_have_value("pagesqqq")
    expect(status).to_contain_text("Nothing found")
    for _ in range(3):
        page.keyboard.press("Backspace")
    target = links.nth(0).evaluate("link => link.href")
    page.keyboard.press("Enter")
    page.wait_for_url(target)
    page.go_back()
    expect(box).to_have_value("pages")
    expect(links.first).to_be_visible()
    expect(page.locator("#all")).to_be_hidden()


def test_without_scripts_the_search_page_says_so_and_lists_all_sections(
    browser: Browser, sample: Path
):
    page = browser.new_page(java_script_enabled=False)
    page.goto((sample / "student/search.html").as_uri())
    expect(page.get_by_text("needs JavaScript")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_count(0)
    page.get_by_role("main").get_by_role("link", name="Why", exact=True).click()
    assert page.url.endswith("/02_copy_all.html#Why")
    page.close()


def searched(page: Path) -> str:
    """All that a search page finds."""
    data = (
        BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        .select_one("#sections")
        .string
    )
    return " ".join(
        text for found in json.loads(data) for _, *entry in found["entries"] for text in entry
    )


def shown_in(notebook: nbformat.NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield output.get("data", {}).get("text/html", "")


def plain(tag: Tag) -> str:
    return " ".join(tag.get_text().split())


def text_of(html: str) -> str:
    return BeautifulSoup(html, "html.parser").get_text()


def words_of(pdf: bytes) -> list[str]:
    """The text on each sheet of paper. Poppler reads a lesson in 0.1 seconds; pypdf, which is
    always there, takes 2.
    """
    if tool := shutil.which("pdftotext"):
        done = subprocess.run([tool, "-raw", "-", "-"], input=pdf, capture_output=True, check=True)
        return done.stdout.decode().removesuffix("\f").split("\f")
    return [sheet.extract_text() for sheet in PdfReader(io.BytesIO(pdf)).pages]


def dense(text: str) -> str:
    """The text without white space, which a PDF doesn't record, and with the ligatures of print
    resolved.
    """
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))
