"""A class and its wall, from the first prediction to the measurement: three notebooks in
JupyterLab, two phones, the projector and the teacher, and a wall that is killed in the middle.
"""

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
    """A page in a browser of its own. What it loads from elsewhere, and what it complains about, is
    kept.
    """
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(MINUTES)
    page.strange = []
    page.on("pageerror", lambda error: page.strange.append(str(error)))
    page.on(
        "console",
        lambda one: (
            one.type == "error" and REFUSED not in one.text and page.strange.append(one.text)
        ),
    )
    page.on(
        "request",
        lambda one: (
            one.url.startswith((f"http://{room.at}/", "data:")) or page.strange.append(one.url)
        ),
    )
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


def test_a_class_predicts_votes_again_and_measures(
    lab: Page, home: Path, browser: Browser, room: Class
):
    for name in STUDENTS:
        sources = {"join": JOIN.format(name=name, address=room.address), "predict": PREDICT}
        cells = [new_code_cell(source, id=cell_id) for cell_id, source in sources.items()]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        write(
            new_notebook(cells=cells, metadata={"kernelspec": kernel}),
            home / "my_lessons" / f"{name}.ipynb",
        )
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
    expect(projector.locator("p.counts")).to_have_text("5 have joined.")

    teacher.get_by_label("question, of a lesson").select_option("01.touch")
    press(teacher, "Ask")
    answers(lab, "ada", "1 byte", ON_IT)
    for phone, choice in zip(phones, ("16 pages", "64 bytes"), strict=True):
        # by itself
        expect(phone.get_by_role("heading")).to_have_text("You read one byte. How much comes?")
        phone.get_by_label(choice, exact=True).check()
        press(phone, "Vote")
        expect(phone.get_by_role("status")).to_have_text(f"Your answer: {choice}")
    for page in (projector, teacher):
        expect(page.locator("p.counts")).to_have_text(
            re.compile("First vote, open for [0-9]:[0-9]{2}. 2 of 5 haven’t")
        )
    answers(lab, "ben", "1 page", ON_IT)
    answers(lab, "cleo", "1 page", ON_IT)
    expect(projector.locator("p.counts")).to_contain_text("5 of 5 have answered")
    told = re.compile("Predicted by 5. 1 byte: 1, .*1 page: 2")
    expect(teacher.locator("img")).to_have_attribute("alt", told)  # by itself, too
    expect(teacher.locator(".share")).to_have_text("Right: 40 % of 5. Worth talking about.")
    expect(projector.locator("img")).to_have_count(0)
    is_accessible(projector, phones[0], teacher)

    press(teacher, "Talk and vote again")
    expect(projector.locator("p.counts")).to_contain_text("Second vote, open for")
    expect(projector.locator("p.counts")).to_contain_text("5 of 5 haven’t answered")
    expect(projector.locator("img")).to_have_count(0)
    expect(phones[0].get_by_text("Find somebody with another answer")).to_be_visible()
    press(teacher, "Start the countdown")
    expect(projector.locator("p.counts")).to_contain_text("Second vote, 1:")
    is_accessible(projector, phones[0], teacher)
    answers(lab, "ada", "1 page", ON_IT)
    phones[0].get_by_label("1 page", exact=True).check()
    press(phones[0], "Vote again")
    expect(projector.locator("p.counts")).to_contain_text("3 of 5 haven’t answered")

    before = room.code, room.key
    room.kill()
    for page in pages:
        expect(page.get_by_role("alert")).to_have_text("The wall doesn’t answer. Still trying …")
    # the QR code is still whole
    assert projector.evaluate("document.documentElement.scrollHeight <= innerHeight")
    answers(lab, "ben", "64 bytes", "not on the wall yet: it's sent as soon as the wall answers")
    phones[1].get_by_label("16 pages", exact=True).check()
    press(phones[1], "Vote again")
    is_accessible(projector, phones[1], teacher)
    room.start()
    assert (room.code, room.key) == before
    assert [room.state()[name] for name in ("joined", "answers")] == [5, 5]
    # with what two couldn't send
    expect(projector.locator("p.counts")).to_contain_text("1 of 5 hasn’t answered")
    for page in pages:
        expect(page.get_by_role("alert")).to_be_hidden()
    # sent as soon as the wall was back
    expect(phones[1].get_by_role("status")).to_have_text("Your answer: 16 pages")
    expect(cell(lab, "predict").get_by_text(f"kept: 64 bytes; {ON_IT}").first).to_be_visible()
    press(teacher, "Show the spread")
    told = re.compile(
        "1 byte: 1, then 0, 64 bytes: 1, then 1, 1 page: 2, then 3, 16 pages: 1, then 1"
    )
    expect(projector.locator("img")).to_have_attribute("alt", told)
    expect(projector.locator(".change")).to_have_text("4 of 5 changed their answer.")
    is_accessible(projector, phones[0], teacher)

    press(teacher, "Show the measurement")
    expect(projector.locator("p.measured")).to_contain_text("Measured: 1 page")
    expect(projector.locator("img")).to_have_attribute("alt", re.compile("Measured: 1 page."))
    corrected = "Of 3 who were wrong, 2 changed to right. Of 2 who were right, 1 changed to wrong."
    expect(projector.locator(".change")).to_have_text(corrected)
    expect(phones[1].get_by_text("You predicted “16 pages”; measured: 1 page.")).to_be_visible()
    answers(lab, "cleo", "16 pages", "not on the wall: its measurement is shown there already")
    for name in STUDENTS:
        opened(lab, f"{name}.ipynb")
        assert not [
            one
            for one in outputs(lab)
            if one["output_type"] == "error" or one.get("name") == "stderr"
        ]
    teacher.get_by_label("question, of a lesson").select_option("01.own")
    room.vote(*voters(1), "1 MiB", "02.chunk")  # is offered, but not while the teacher chooses
    expect(teacher.get_by_text("6 have joined")).to_be_visible()
    expect(teacher.get_by_label("question, of a lesson")).to_have_value("01.own")
    is_accessible(projector, phones[1], teacher)
    assert not sum((page.strange for page in pages), lab.complaints)


def test_a_choice_made_while_the_next_page_is_on_its_way_is_kept(browser: Browser, room: Class):
    room.press("ask", question="01.touch")
    phone = page_of(browser, room, f"/{room.code}", 390, 800)
    held = []
    phone.get_by_label("16 pages", exact=True).check()
    press(phone, "Vote")
    expect(phone.get_by_role("status")).to_have_text("Your answer: 16 pages")
    expect(phone.get_by_role("button")).to_have_text("Change my answer")
    phone.route(room.address, lambda route: held.append(route))
    with phone.expect_request(room.address):
        room.press("again")
    phone.get_by_label("1 page", exact=True).check()
    with phone.expect_response(room.address):
        held[0].continue_()
    phone.wait_for_timeout(500)  # for the page to be taken
    phone.unroute(room.address)
    press(phone, "Change my answer")
    expect(phone.get_by_role("status")).to_have_text("Your answer: 1 page")


def test_neither_a_key_that_is_held_nor_a_second_click_walks_on(browser: Browser, room: Class):
    teacher = page_of(browser, room, "/teacher")
    teacher.get_by_label("The key").fill(room.key)
    press(teacher, "Open")
    teacher.get_by_label("question, of a lesson").select_option("01.touch")
    teacher.get_by_role("button", name="Ask", exact=True).focus()
    for _ in range(60):  # as a keyboard repeats it, for three seconds
        teacher.keyboard.down("Enter")
        teacher.wait_for_timeout(50)
    teacher.keyboard.up("Enter")
    expect(teacher.locator("p.counts")).to_contain_text("First vote")
    reveal = teacher.get_by_role("button", name="Show the spread", exact=True)
    where = reveal.bounding_box()
    for _ in range(4):  # whatever stands there next
        teacher.mouse.click(where["x"] + where["width"] / 2, where["y"] + where["height"] / 2)
        teacher.wait_for_timeout(150)
    expect(teacher.get_by_role("button", name="Talk and vote again", exact=True)).to_be_enabled()
    expect(teacher.locator("p.counts")).to_contain_text("First vote. ")
    press(teacher, "One step back")
    expect(teacher.locator("p.counts")).to_contain_text("First vote, open for")


def test_a_phone_keeps_what_was_typed_and_marks_what_is_wrong(browser: Browser, room: Class):
    room.press("ask", question="01.own")
    phone = page_of(browser, room, f"/{room.code}", 390, 800)
    for name, text in {"read": "64", "zeros": "lots", "zeros and touch": "0,5 GiB"}.items():
        phone.get_by_label(f"{name}, MiB", exact=True).fill(text)
    press(phone, "Vote")
    expect(phone.get_by_role("alert").last).to_contain_text(
        "“lots” is not a number of MiB; write 0.5, 256 or 1,024"
    )
    expect(phone.get_by_label("read, MiB", exact=True)).to_have_value("64")
    expect(phone.get_by_label("zeros, MiB", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(phone.locator("[aria-invalid]")).to_have_count(1)
    is_accessible(phone)
    phone.get_by_label("zeros, MiB", exact=True).fill("0")
    press(phone, "Vote")
    expect(phone.get_by_role("status")).to_have_text(
        "Your answer: read 64 MiB, zeros 0 B, zeros and touch 512 MiB"
    )
    room.press("ask", question="02.order")
    places = phone.get_by_role("combobox")
    places.first.select_option("sendfile")
    press(phone, "Vote")
    expect(phone.get_by_role("alert").last).to_contain_text("to place: one buffer, async chunks")
    expect(places.first).to_have_value("sendfile")


def test_a_button_whose_answer_is_late_is_pressed_once(browser: Browser, room: Class):
    teacher = page_of(browser, room, "/teacher")
    pressed = []
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


def test_a_full_disk_is_said_on_the_page_and_the_answer_goes_when_there_is_room(
    browser: Browser, room: Class
):
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
    teacher = page_of(browser, room, "/teacher")
    phone = page_of(browser, room, f"/{room.code}", 390, 800)
    teacher.get_by_label("The key").fill(room.key)
    press(teacher, "Open")
    phone.get_by_label("16 pages", exact=True).check()
    press(phone, "Vote")
    expect(teacher.locator("p.counts")).to_contain_text("1 of 1 has answered")
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
    expect(teacher.locator("p.counts")).not_to_contain_text("1 of 1 has answered")
    expect(phone.get_by_role("status")).to_have_count(0)
