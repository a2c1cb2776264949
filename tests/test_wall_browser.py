"""A class and its wall, from the first prediction to the measurement: three notebooks in JupyterLab, two phones, the
projector and the teacher, and a wall that is killed in the middle."""

import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab import MINUTES, cell, opened, outputs, run_all
from nbformat import write
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Error, Page, Route, expect
from walls import Class, limit_files, voters

pytestmark = [pytest.mark.slow, pytest.mark.notebooks]

JOIN = """import os
os.environ["ZERO_COPY_STATE"] += "-{name}"  # another student
from helpers.teach import join, predict
join("{address}")"""
PREDICT = """amounts = ["1 byte", "64 bytes", "1 page", "16 pages"]
touched = predict("01.touch", "You read one byte. How much comes?", choices=amounts)
touched"""
STUDENTS = ("ada", "ben", "cleo")
ON_IT = "on the wall, without your name"
REFUSED = "net::ERR_CONNECTION"  # what the browser says of a wall that is gone


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Class]:
    room = Class(tmp_path)
    yield room
    room.kill()


def page_of(browser: Browser, room: Class, path: str, width: int = 1280, height: int = 800) -> Page:
    """A page in a browser of its own. What it loads from elsewhere, and what it complains about, is kept."""
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(MINUTES)
    page.strange = []
    page.on("pageerror", lambda error: page.strange.append(str(error)))
    page.on("console", lambda one: one.type == "error" and REFUSED not in one.text and page.strange.append(one.text))
    page.on("request", lambda one: one.url.startswith((f"http://{room.at}/", "data:")) or page.strange.append(one.url))
    page.goto(f"http://{room.at}{path}")
    return page


def is_accessible(*pages: Page) -> None:
    for page in pages:
        try:
            found = Axe().run(page)
        except Error:  # it has been loaded anew meanwhile
            found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def answers(lab: Page, name: str, choice: str, told: str) -> None:
    """Chooses in that student's notebook; the line below says `told`."""
    opened(lab, f"{name}.ipynb")
    cell(lab, "predict").get_by_label(choice, exact=True).click()
    expect(cell(lab, "predict").get_by_text(f"kept: {choice}; {told}").first).to_be_visible()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_class_predicts_votes_again_and_measures(lab: Page, home: Path, browser: Browser, room: Class):
    for name in STUDENTS:
        sources = {"join": JOIN.format(name=name, address=room.address), "predict": PREDICT}
        cells = [new_code_cell(source, id=cell_id) for cell_id, source in sources.items()]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), home / "my_lessons" / f"{name}.ipynb")
    projector = page_of(browser, room, f"/{room.code}/projector", 1024, 768)
    phones = [page_of(browser, room, f"/{room.code}", 390, 800) for _ in range(2)]
    teacher = page_of(browser, room, "/teacher")
    pages = (projector, *phones, teacher)
    is_accessible(projector, phones[0], teacher)
    teacher.get_by_label("The key").fill(room.key)
    press(teacher, "Open")
    for name in STUDENTS:
        opened(lab, f"{name}.ipynb")
        run_all(lab)
        expect(cell(lab, "join")).to_contain_text("Joined.")
    expect(projector.locator("p.counts")).to_have_text("5 have joined")

    teacher.get_by_label("Another question").select_option("01.touch")
    press(teacher, "Ask")
    answers(lab, "ada", "1 byte", ON_IT)
    for phone, choice in zip(phones, ("16 pages", "64 bytes"), strict=True):
        expect(phone.get_by_role("heading")).to_have_text("You read one byte. How much comes?")  # by itself
        phone.get_by_label(choice, exact=True).check()
        press(phone, "Vote")
        expect(phone.get_by_role("status")).to_have_text(f"Your answer: {choice}")
    expect(projector.locator("p.counts")).to_contain_text("3 of 5 have answered")
    answers(lab, "ben", "1 page", ON_IT)
    answers(lab, "cleo", "1 page", ON_IT)
    expect(projector.locator("p.counts")).to_contain_text("5 of 5 have answered")
    expect(projector.locator("img")).to_have_count(0)
    is_accessible(projector, phones[0], teacher)

    press(teacher, "Reveal")
    expect(projector.locator("img")).to_have_attribute("alt", re.compile("Predicted by 5. 1 byte: 1, .*1 page: 2"))
    is_accessible(projector, phones[0], teacher)
    press(teacher, "Vote again")
    expect(projector.locator("p.counts")).to_contain_text("0 of 5 have")
    answers(lab, "ada", "1 page", ON_IT)
    phones[0].get_by_label("1 page", exact=True).check()
    press(phones[0], "Vote again")
    expect(projector.locator("p.counts")).to_contain_text("2 of 5 have")

    before = room.code, room.key
    room.kill()
    for page in pages:
        expect(page.get_by_role("alert")).to_have_text("The wall doesn’t answer. Still trying …")
    assert projector.evaluate("document.documentElement.scrollHeight <= innerHeight")  # the QR code is still whole
    answers(lab, "ben", "64 bytes", "not on the wall yet: it's sent as soon as the wall answers")
    phones[1].get_by_label("16 pages", exact=True).check()
    press(phones[1], "Vote again")
    is_accessible(projector, phones[1], teacher)
    room.start()
    assert (room.code, room.key) == before
    assert [room.state()[name] for name in ("joined", "answers")] == [5, 5]
    expect(projector.locator("p.counts")).to_contain_text("4 of 5 have")  # with what two couldn't send
    for page in pages:
        expect(page.get_by_role("alert")).to_be_hidden()
    expect(phones[1].get_by_role("status")).to_have_text("Your answer: 16 pages")  # sent as soon as the wall was back
    expect(cell(lab, "predict").get_by_text(f"kept: 64 bytes; {ON_IT}").first).to_be_visible()
    press(teacher, "Reveal")
    told = re.compile("1 byte: 1, then 0, 64 bytes: 1, then 1, 1 page: 2, then 3, 16 pages: 1, then 1")
    expect(projector.locator("img")).to_have_attribute("alt", told)
    is_accessible(projector, phones[0], teacher)

    press(teacher, "Measured")
    expect(projector.locator("p.measured")).to_contain_text("Measured: 1 page")
    expect(projector.locator("img")).to_have_attribute("alt", re.compile("Measured: 1 page."))
    expect(phones[1].get_by_text("The measurement is on the wall.")).to_be_visible()
    answers(lab, "cleo", "16 pages", "not on the wall: its measurement is shown there already")
    for name in STUDENTS:
        opened(lab, f"{name}.ipynb")
        assert not [one for one in outputs(lab) if one["output_type"] == "error" or one.get("name") == "stderr"]
    teacher.get_by_label("Another question").select_option("01.own")
    room.vote(*voters(1), "1 MiB", "02.chunk")  # is offered, but not while the teacher chooses
    expect(teacher.locator("p.counts")).to_contain_text("6 have joined")
    expect(teacher.get_by_label("Another question")).to_have_value("01.own")
    is_accessible(projector, phones[1], teacher)
    assert not sum((page.strange for page in pages), lab.complaints)


def test_a_choice_made_while_the_next_page_is_on_its_way_is_kept(browser: Browser, room: Class):
    room.press("ask", question="01.touch")
    phone, held = page_of(browser, room, f"/{room.code}", 390, 800), []
    phone.get_by_label("16 pages", exact=True).check()
    press(phone, "Vote")
    expect(phone.get_by_role("status")).to_have_text("Your answer: 16 pages")
    room.press("revealed")
    expect(phone.get_by_role("button")).to_have_text("Vote again")
    phone.route(room.address, lambda route: held.append(route))
    with phone.expect_request(room.address):
        room.press("again")
    phone.get_by_label("1 page", exact=True).check()
    with phone.expect_response(room.address):
        held[0].continue_()
    phone.wait_for_timeout(500)  # for the page to be taken
    phone.unroute(room.address)
    press(phone, "Vote again")
    expect(phone.get_by_role("status")).to_have_text("Your answer: 1 page")


def test_a_button_whose_answer_is_late_is_pressed_once(browser: Browser, room: Class):
    teacher, pressed = page_of(browser, room, "/teacher"), []
    teacher.get_by_label("The key").fill(room.key)
    press(teacher, "Open")
    for voter in voters(5):
        room.vote(voter, "1 MiB", "02.chunk")

    def late(route: Route) -> None:
        pressed.append(route.request.post_data)
        time.sleep(2)  # the page has looked meanwhile, and the wall is there
        route.continue_()

    teacher.route("**/teacher", late)
    teacher.locator("summary").click()
    teacher.get_by_label("The class agrees").check()
    press(teacher, "End the lesson")
    expect(teacher.get_by_text("Its votes are kept in")).to_be_visible()
    assert [what[:9] + what[-6:] for what in pressed if what] == ["keep=yes&do=end"]


def test_a_full_disk_is_said_on_the_page_and_the_answer_goes_when_there_is_room(browser: Browser, room: Class):
    room.press("ask", question="01.touch")
    phone = page_of(browser, room, f"/{room.code}", 390, 800)
    limit_files(room, 10)
    phone.get_by_label("16 pages", exact=True).check()
    press(phone, "Vote")
    expect(phone.get_by_role("alert")).to_contain_text("It can't be kept: ")
    limit_files(room, resource.RLIM_INFINITY)
    expect(phone.get_by_role("status")).to_have_text("Your answer: 16 pages")
    expect(phone.get_by_role("alert")).to_be_hidden()


def test_the_teacher_closes_the_door_and_takes_votes_back(browser: Browser, room: Class):
    room.press("ask", question="01.touch")
    teacher, phone = page_of(browser, room, "/teacher"), page_of(browser, room, f"/{room.code}", 390, 800)
    teacher.get_by_label("The key").fill(room.key)
    press(teacher, "Open")
    phone.get_by_label("16 pages", exact=True).check()
    press(phone, "Vote")
    expect(teacher.locator("p.counts")).to_contain_text("1 have answered")
    press(teacher, "Close the door")
    expect(teacher.get_by_text("The door is closed")).to_be_visible()
    late = page_of(browser, room, f"/{room.code}", 390, 800)
    expect(late.get_by_role("alert").last).to_have_text(
        "The door is closed: 1 have joined. Ask your teacher to let you in."
    )
    is_accessible(teacher, late)
    teacher.get_by_label("How many more may join?").fill("3")
    press(teacher, "Open the door")
    expect(teacher.get_by_text("The door is open")).to_be_visible()
    is_accessible(teacher)
    teacher.get_by_text("Take back the votes").click()
    press(teacher, "Delete this question’s answers")
    expect(teacher.locator("p.counts")).to_contain_text("0 have answered")
    expect(phone.get_by_role("status")).to_have_count(0)
