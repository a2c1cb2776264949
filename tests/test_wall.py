"""The wall: what a class votes is kept once, shown to nobody by name, and no notebook waits
for it.
"""

import json
import os
import re
import secrets
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest
from serving import raw, until
from walls import Class, size_of, voters

from helpers.classroom.report import votes
from helpers.folders import NOTEBOOKS, TEACHER
from helpers.teach import join, predict, quiz, state
from helpers.teach import wall_client as students
from helpers.teach.predict import Prediction
from helpers.teach.words import paragraphs
from helpers.units import MiB
from helpers.wall import ballots, charts, questions, spread
from helpers.wall.ballots import Ballots, Refused
from helpers.wall.server import LARGEST, advice
from helpers.wall.steps import AGAIN, ASKED, COMPARED, MEASURED, REVEALED, STEPS

PEAKS = {"slurp": 256.0, "async chunks": 1.0, "mmap": 0.0}
EACH = {
    "01.touch": "1 page",
    "02.three": PEAKS,
    "02.order": ["sendfile", "one buffer", "async chunks"],
    "04.turned": 64.0,
    "02.quiz-counter": "b",
}


# --- the ballot box -------------------------------------------------------------------------------
@pytest.fixture
def box(tmp_path: Path) -> Iterator[Ballots]:
    box = Ballots(tmp_path)
    yield box
    box.connection.close()


def test_every_kind_of_question_has_two_votes_and_a_measurement(box: Ballots):
    for key, right in EACH.items():
        box.ask(key)
        asked = box.known[key]
        of = voters(6)
        other = {"number": 1.0, "numbers": PEAKS | {"mmap": 256.0}, "quiz": "a"}
        wrong = other.get(asked.kind) or (
            asked.names[0] if asked.kind == "choice" else [*asked.names]
        )
        for voter in of:
            box.vote(key, voter, wrong, 1)
        box.move(REVEALED)
        box.move(AGAIN)
        for voter in of[:4]:
            box.vote(key, voter, right, 2)
        box.move(COMPARED)
        pairs = box.rounds(key)
        assert box.phase(key) == "compared"
        assert box.counts(key) == (6, 4)
        assert sorted(map(str, pairs)) == sorted(
            [str((wrong, right))] * 4 + [str((wrong, wrong))] * 2
        )
        shown = charts.chart(asked, *zip(*pairs, strict=True))
        assert "then" in shown.alt
        assert "second vote: 6" in {text.get_text() for text in shown.figure.legends[0].texts}
        box.move(MEASURED)
        with pytest.raises(Refused, match="shown already"):
            box.vote(key, of[0], right, 3)


def test_until_a_vote_is_drawn_an_answer_is_a_first_one(box: Ballots):
    """And a first vote that is too small for a picture doesn't hide the second."""
    first = voters(4)
    late = voters(1)
    latest = voters(2)
    box.ask("04.turned")
    for voter in first:
        box.vote("04.turned", voter, 64, 1)
    box.move(REVEALED)
    for voter in late + latest:
        box.vote("04.turned", voter, 64, 1)
    assert sorted(map(str, box.rounds("04.turned"))) == ["(64.0, 64.0)"] * 5 + ["(None, 64.0)"] * 2
    assert box.counts("04.turned") == (7, 0)  # the last two answered once
    asked = box.known["04.turned"]
    pairs = [(None, 1.0)] * 3 + [(2.0, 1.0)] * 4
    assert "7 predictions, median 1" in charts.chart(asked, *zip(*pairs, strict=True)).alt
    assert charts.chart(asked, *zip(*pairs[3:], strict=True)) is None


def test_no_step_runs_ahead_and_one_step_back_is_possible(box: Ballots):
    with pytest.raises(Refused, match="doesn't follow"):
        box.move(AGAIN)
    box.ask("04.turned")
    for name, step in STEPS.items():
        for other in STEPS.keys() - set(step.then):
            box.walk([name])
            with pytest.raises(Refused, match="doesn't follow"):
                box.move(other)
    box.walk([ASKED])
    box.back()
    assert box.phase("04.turned") == ASKED
    (one,) = voters(1)
    box.vote("04.turned", one, 1, 1)
    for step in (AGAIN, COMPARED, MEASURED):
        box.move(step)
    box.back()
    assert box.phase("04.turned") == COMPARED
    box.vote("04.turned", one, 64, 2)
    assert box.rounds("04.turned") == [(1, 64)]
    box.back()
    assert box.phase("04.turned") == AGAIN
    assert box.rounds("04.turned") == [(1, 64)]
    box.back()
    assert box.phase("04.turned") == ASKED and box.rounds("04.turned") == [(64, 64)], (
        "the second vote hasn't begun"
    )


def test_what_the_class_has_seen_before_it_talks_stays_in_sight(box: Ballots):
    box.ask("04.turned")
    drawn = [box.drawn("04.turned")]
    for step in (REVEALED, AGAIN, COMPARED, MEASURED):
        box.move(step)
        drawn.append(box.drawn("04.turned"))
    box.ask("01.touch")
    box.move(AGAIN)
    assert (drawn, box.drawn("01.touch")) == ([0, 1, 1, 2, 2], 0)


def test_the_votes_are_told_in_sentences(box: Ballots):
    choice = box.known["01.touch"]
    pairs = [("1 byte", "1 page")] * 6 + [("16 pages", "16 pages")] * 3 + [("1 page", "1 page")] * 4
    pairs += [("1 page", "1 byte"), (None, "1 page")]
    first, second = zip(*pairs, strict=True)
    assert spread.share(choice, first, second) == "Right: 36 % of 14, then 73 % of 15."
    assert spread.rule(choice, first) == "Worth talking about."
    assert spread.rule(choice, second) == "Go on."
    assert spread.rule(choice, ["1 byte"] * 9).startswith("Too few")
    moved = "7 of 14 changed their answer, 6 of them from “1 byte” to “1 page”."
    assert spread.changed(choice, pairs) == moved
    assert spread.changed(choice, pairs[2:]) == "5 of 12 changed their answer.", (
        "four are too few to be told"
    )
    corrected = "Of 9 who were wrong, 6 changed to right. Of 5 who were right, 1 changed to wrong."
    assert spread.corrected(choice, pairs) == corrected
    quiz = [("c", "b")] * 5
    assert spread.changed(box.known["02.quiz-counter"], quiz).count("”") == 2
    many = replace(box.known["02.three"], measured=PEAKS)
    assert (
        spread.changed(many, [(PEAKS, PEAKS | {"mmap": 1.0})] * 5) == "5 of 5 changed their answer."
    )
    near = {"slurp": 250.0, "async chunks": 1.4, "mmap": 64.0}
    told = "Right: 0 % of 5 in all numbers (slurp 100 %, async chunks 100 %, mmap 0 %)."
    assert spread.share(many, [near] * 5) == told
    assert spread.share(many, [near] * 4) == spread.rule(many, [near] * 4) == ""
    unknown = replace(choice, measured=None)
    assert (
        spread.share(unknown, first)
        == spread.rule(unknown, first)
        == spread.corrected(unknown, pairs)
        == ""
    )


def test_showing_a_question_doesnt_take_its_measurement_away(box: Ballots):
    asked = {
        "question": "How many pages?",
        "kind": "number",
        "unit": "pages",
        "names": [""],
        "most": None,
    }
    before = box.measured("04.turned")
    box.define("04.turned", asked, None)
    assert box.measured("04.turned") == before
    assert before[0] is not None
    box.define("04.turned", asked, 7)
    assert box.measured("04.turned") == (7, "in your teacher's notebook")


def test_of_two_answers_the_later_counts_whichever_arrives_first(box: Ballots):
    (one,) = voters(1)
    box.vote("04.turned", one, 64, 20)
    with pytest.raises(Refused, match="a later time"):
        box.vote("04.turned", one, 1, 10)
    assert box.last("04.turned", one) == (1, 64)
    box.vote("04.turned", one, None, 30)
    assert box.rounds("04.turned") == []
    assert box.counts("04.turned") == (0, 0)


@pytest.mark.parametrize("answer", ["two", -1, float("nan"), True, {}, [], "1 page", 10**400])
def test_what_is_no_answer_is_refused(box: Ballots, answer: Any):
    with pytest.raises(Refused, match="doesn't answer"):
        box.vote("04.turned", *voters(1), answer, 1)
    with pytest.raises(Refused, match="at most 100"):
        box.vote("01.freed", *voters(1), 150, 1)
    with pytest.raises(Refused, match="doesn't have this question"):
        box.vote("04.turne", *voters(1), 1, 1)
    assert not box.all("select * from votes")


def test_a_question_that_students_reach_is_offered_and_not_asked(box: Ballots):
    box.ask("02.three")
    assert box.offered() == ("", 0)
    for voter in voters(3):
        box.vote("02.chunk", voter, "1 MiB", 1)
    box.vote("02.order", voter, EACH["02.order"], 1)
    assert box.offered() == ("02.chunk", 3)
    assert box.about("asked") == "02.three"
    box.ask("02.chunk")
    box.vote("01.touch", voter, None, 1)
    said = []
    box.connection.set_trace_callback(said.append)
    # pages ask again and again
    assert box.offered() == ("02.order", 1)
    assert "votes" not in str(said)
    assert box.counts("02.chunk") == (3, 0)


def test_only_the_teachers_notebook_measures_and_asks_new_questions(box: Ballots):
    own = predict("42.own", "How many?", unit="MiB")
    box.define(own.key, own.asked, None)
    box.ask("42.own")
    box.vote("42.own", *voters(1), 3, 1)
    assert box.measured("42.own")[0] is None
    box.define(own.key, own.asked, 12 * MiB)
    assert box.measured("42.own") == (12, "in your teacher's notebook")
    assert box.measured("04.turned")[0] == 64
    # as a program may send it
    assert predict("42.x", "?", order=["1", "2"]).checked([2, 1]) == ["2", "1"]
    for asked in ({}, None, "y", {"question": 3}, own.asked | {"kind": "?", "more": 1}):
        with pytest.raises(Refused, match="isn't a question"):
            box.define("42.x", asked, None)


def test_the_end_deletes_all_and_keeps_only_what_the_class_agreed_to(box: Ballots, tmp_path: Path):
    of = voters(6)
    for number, voter in enumerate(of):
        box.vote("04.turned", voter, number, 1)
        box.vote("01.touch", voter, "1 page", 1)
    box.vote("02.chunk", of[0], "1 MiB", 1)
    code = box.about("code")
    key = box.about("key")
    kept = box.end(keep=True)
    _, one = json.loads(kept.read_text())
    assert one["key"] == "04.turned"
    assert sorted(first for first, _ in one["votes"]) == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    head, *lines = kept.with_suffix(".csv").read_text().splitlines()
    assert head == "key,first,second,measured"
    assert len(lines) == 12
    assert "04.turned,5.0,5.0,64" in lines
    assert lines[:6] == ["01.touch,1 page,1 page,1 page"] * 6
    on_disk = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(voter.encode() in on_disk for voter in of)
    assert not box.all("select * from votes")
    assert box.about("code") != code
    assert box.about("key") == key
    (tmp_path / "wall").mkdir()
    (tmp_path / "wall" / kept.name).write_bytes(kept.read_bytes())
    ((shown,),) = votes("04", tmp_path)
    assert "6 predictions" in shown.picture.alt
    for voter in of:
        box.vote("04.turned", voter, 3, 1)
    assert box.end(keep=False) is None
    assert len([*tmp_path.glob("*.json")]) == 1


def test_without_a_size_a_thousand_can_join(box: Ballots, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ballots, "MOST_VOTERS", 3)
    for voter in (of := voters(3)):
        box.vote("04.turned", voter, 1, 1)
    with pytest.raises(Refused, match="the door is closed: 3 have joined"):
        box.join(*voters(1))
    box.vote("04.turned", of[0], 2, 2)  # who is known may go on


def test_two_walls_cannot_share_a_folder(box: Ballots, tmp_path: Path):
    with pytest.raises(BlockingIOError, match="in use by another wall"):
        Ballots(tmp_path)


def test_the_questions_are_those_that_the_lessons_ask():
    kept = json.loads(questions.QUESTIONS.read_text(encoding="utf-8"))
    text = "".join(
        "".join(cell["source"])
        for path in sorted(NOTEBOOKS.glob("[01]*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
    assert [*kept] == re.findall(r'\bpredict\(\s*"([^"]+)"', text), "see questions.record"
    assert all(
        one["names"] and one["measured"] is not None
        for key, one in kept.items()
        if key != "05.pays"
    )


def test_the_questions_are_kept_as_they_were_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    guess = predict("02.own", "How many?", each=["a", "b"], unit="MiB")
    html = [guess._repr_html_(), guess.beside({"a": 3 * MiB, "b": None}).html]
    outputs = [{"data": {"text/html": text}} for text in html]
    (tmp_path / "02_x.ipynb").write_text(json.dumps({"cells": [{"outputs": outputs}]}))
    monkeypatch.setattr(questions, "QUESTIONS", tmp_path / "questions.json")
    questions.record(tmp_path)
    kept = json.loads(questions.QUESTIONS.read_text())
    assert kept == {"02.own": json.loads(json.dumps(guess.asked)) | {"measured": {"a": 3}}}


def test_each_lesson_has_a_question_worth_a_second_vote():
    box = [
        one.key
        for path in sorted(NOTEBOOKS.glob("[01]*.ipynb"))
        for one in questions.lesson(path.name[:2]).questions
    ]
    assert advice().keys() <= set(box)
    assert {key[:2] for key in advice()} == {key[:2] for key in box}
    for text in advice().values():
        assert "**Expect:**" in text
        assert "**Ask:**" in text
        assert "*" not in paragraphs(text)
    titles = re.findall(
        "^## (.+)", (TEACHER / "votes.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert titles == [questions.lesson(f"{number:02}").title for number in range(12)]


# --- the server -----------------------------------------------------------------------------------
@pytest.fixture
def room(tmp_path: Path) -> Iterator[Class]:
    room = Class(tmp_path)
    yield room
    room.kill()


def test_a_lesson_from_joining_to_its_end(room: Class):
    of = voters(8)
    assert room.press("ask", question="02.three") == 303
    assert [room.vote(voter, PEAKS) for voter in of[:4]] == [200] * 4
    room.press("revealed")
    made_of = room.state()["projector"]
    projector = room.ask("GET", f"/{room.code}/projector")[1]
    assert "Fewer than 5 answers" in projector
    assert "data:image" not in projector
    # nothing was shown: the fifth may see it
    assert [room.vote(voter, PEAKS) for voter in of[4:7]] == [200] * 3
    assert room.state()["projector"] != made_of
    assert "data:image" in room.ask("GET", f"/{room.code}/projector")[1]
    room.press("measured")
    assert "Measured: <strong>slurp 256 MiB" in room.ask("GET", f"/{room.code}/projector")[1]
    assert room.vote(of[0], PEAKS) == 409
    assert "Its votes are kept" not in room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]
    assert room.press("end", keep="yes") == 303
    assert "Its votes are kept" in room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]
    assert room.vote(of[0], PEAKS) == 404  # the next class has another code
    assert (
        "This lesson has ended. Thank you."
        in room.ask("GET", f"/{room.code}", Accept="text/html")[1]
    )
    room.press("end", keep="no")
    assert "Its votes are deleted." in room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]
    room.press("ask", question="02.three")
    assert "Its votes" not in room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]


def test_the_teacher_alone_sees_the_spread_while_the_vote_is_open(room: Class):
    room.press("ask", question="01.touch")
    of = voters(7)

    def pages() -> list[str]:
        own = room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]
        return [
            own,
            room.ask("GET", f"/{room.code}/projector")[1],
            room.ask("GET", f"/{room.code}")[1],
        ]

    for voter, choice in zip(of, ("1 page", "1 byte") * 4, strict=False):
        assert "data:image" not in pages()[0] or voter in of[5:]
        room.vote(voter, choice, "01.touch")
    own, projector, phone = pages()
    assert "Predicted by 7" in own
    assert "Right: 57 % of 7. Worth talking about." in own
    for text in (projector, phone, json.dumps(room.state())):
        assert not re.search("data:image|57 %|Right", text)
    room.press("again")
    for voter in of[:5]:
        room.vote(voter, "1 page", "01.touch")
    own, projector, _ = pages()
    assert "Right: 57 % of 7, then 86 % of 7. Of 3 who were wrong, 2 changed to right." in own
    assert "data:image" not in projector
    assert "Find somebody with another answer" in projector


def test_both_pages_say_which_vote_is_open_for_how_long_and_who_is_missing(room: Class):
    one, other = voters(2)

    def lines() -> set[str]:
        pages = [
            room.ask("GET", path, Cookie=f"teacher={room.key}")[1]
            for path in (f"/{room.code}/projector", "/teacher")
        ]
        found = [
            re.sub("<[^>]+>", "", re.search('class="counts">(.+?)</p>', page)[1]) for page in pages
        ]
        return {re.sub(r"\d:\d\d", "0:00", line) for line in found}

    assert lines() == {"0 have joined."}
    room.vote(one, "1 page", "01.touch")
    room.ask("PUT", f"/{room.code}/voters/{other}", "{}")
    room.press("ask", question="01.touch")
    assert lines() == {"First vote, open for 0:00. 1 of 2 hasn’t answered."}
    room.kill()
    room.start()
    assert lines() == {"First vote, open for 0:00. 1 of 2 hasn’t answered."}
    room.press("again")
    assert lines() == {"Second vote, open for 0:00. 2 of 2 haven’t answered."}
    room.press("countdown", minutes="2")
    assert re.fullmatch(", (2:00|1:[0-9]{2}) left", room.state()["clock"])
    room.press("countdown", minutes="many")
    room.press("countdown", minutes="0")
    assert lines() == {"Second vote, time is up. 2 of 2 haven’t answered."}
    room.vote(one, "1 page", "01.touch")
    room.press("compared")
    assert lines() == {"Both votes. 1 of 2 has answered."}


def test_a_page_of_an_earlier_step_walks_no_further(room: Class):
    """Nor does one that was shown before a step back."""
    room.press("ask", question="01.touch")
    shown = room.of()
    room.press("revealed")
    assert room.press("measured", of=shown) == 303
    assert "First vote" in room.ask("GET", f"/{room.code}/projector")[1]
    room.press("back")
    assert room.of() != shown
    assert room.press("revealed", of=shown) == 303
    assert "open for" in room.state()["clock"]
    assert room.press("compared") == 409
    assert room.press("asked") == 409


def test_votes_for_almost_nothing_are_drawn(room: Class):
    of = voters(5)
    almost = {"64 B": 5e-324, "4 MiB": 5e-324}
    assert room.press("ask", question="05.pays") == 303
    assert [room.vote(voter, almost, "05.pays") for voter in of] == [200] * 5
    room.press("revealed")
    status, page = room.ask("GET", f"/{room.code}/projector")
    assert status == 200
    assert "data:image" in page


def test_a_phone_votes_without_a_kernel_and_hears_what_is_wrong(room: Class):
    room.press("ask", question="02.three")
    voter = {"Cookie": f"voter={secrets.token_hex(16)}"}

    def voted(*answers: str, key: str = "02.three") -> str:
        form = [("key", key), *(("answer", answer) for answer in answers)]
        return room.ask("POST", f"/{room.code}", urlencode(form), **voter)[1]

    page = voted("1,5", "many", "64")
    assert "“many” is not a number of MiB; write 0.5, 256 or 1,024, or 512 KiB" in page
    assert re.findall(r' value="([^"]*)"( aria-invalid)?', page)[1:] == [
        ("1,5", ""),
        ("many", " aria-invalid"),
        ("64", ""),
    ]
    assert voted("<b>", "", "") != voted("1", "many") != ""
    assert "inputmode" not in page
    assert "Give an answer first." in voted("", "", "")
    assert "Give an answer first." in voted()
    assert "at another question" in voted("1", "1", "1", key="02.chunk")
    assert room.state()["answers"] == 0
    assert "slurp 256 MiB, async chunks 1 MiB" in voted("0.25 GiB", "1", "")
    assert room.state()["answers"] == 1
    assert 'value="256"' in room.ask("GET", f"/{room.code}", **voter)[1]
    assert "It counts. You can change it" in room.ask("GET", f"/{room.code}", **voter)[1]
    room.kill()
    with closing(sqlite3.connect(room.folder / "wall" / "wall.sqlite")) as kept, kept:
        kept.execute("update votes set at = 2 * at")  # as if the clock had been ahead
    room.start()
    assert "slurp 1 MiB" in voted("1", "1", "")


def test_a_phone_has_its_answer_beside_what_was_measured(room: Class):
    voter = {"Cookie": f"voter={secrets.token_hex(16)}"}
    for key, answer, told in (
        ("04.turned", "16", "You predicted 16 pages; measured 64 pages – 4 times as many."),
        ("04.copy-up", "1", "You predicted 1 MiB; measured 16 MiB – 16 times as much."),
        ("03.ahead", f"0.{'0' * 323}5", "You predicted 4.94e-324 pages; measured 2,048 pages."),
        ("02.quiz-counter", "a", "Right: (b) "),
    ):
        room.press("ask", question=key)
        room.ask("POST", f"/{room.code}", urlencode({"key": key, "answer": answer}), **voter)
        assert told not in room.ask("GET", f"/{room.code}", **voter)[1]
        room.press("revealed")
        assert "The spread is on the wall." in room.ask("GET", f"/{room.code}", **voter)[1]
        room.press("measured")
        page = room.ask("GET", f"/{room.code}", **voter)[1]
        assert told in page
        assert "<form" not in page
        assert "The measurement is on the wall." in room.ask("GET", f"/{room.code}")[1]


def test_what_looks_at_a_link_hasnt_joined(room: Class):
    for _ in range(20):
        room.ask("GET", f"/{room.code}")
    assert room.state()["joined"] == 0
    # as a phone's page does
    room.ask("GET", f"/{room.code}/state", Cookie=f"voter={secrets.token_hex(16)}")
    assert room.state()["joined"] == 1


def test_the_class_can_be_given_another_address_of_the_machine(tmp_path: Path):
    room = Class(tmp_path, "--address", "10.42.0.1")
    try:
        address = f"http://10.42.0.1:{room.port}/{room.code}"
        assert address in room.ask("GET", f"/{room.code}/projector")[1]
        form = urlencode({"key": "x"})
        own = {"Origin": f"http://10.42.0.1:{room.port}"}
        assert room.ask("POST", f"/{room.code}", form, **own)[0] == 200
    finally:
        room.kill()
    wrong = subprocess.run(
        Class.command(0, tmp_path, "--address", "10.42.0.1/x?"), capture_output=True, text=True
    )
    assert wrong.returncode == 2
    assert "see --address" in wrong.stderr


HOTSPOT = """ip link set lo up; ip link add hotspot type bridge
ip addr add 10.42.0.1/24 dev hotspot; ip link set hotspot up
exec "$0" -c 'from helpers.wall.server import own_addresses; print(own_addresses())'"""


@pytest.mark.needs(tool="ip")
def test_a_hotspot_that_leads_nowhere_has_an_address():
    command = ["unshare", "-Urn", "sh", "-c", HOTSPOT, sys.executable]
    ended = subprocess.run(command, capture_output=True, text=True)
    if "unshare:" in ended.stderr or "RTNETLINK" in ended.stderr:
        pytest.skip("no network of one's own here")
    assert ended.stdout == "['10.42.0.1']\n", ended.stderr


def test_a_question_that_is_asked_in_another_form_still_has_its_page(room: Class):
    cookie = f"voter={secrets.token_hex(16)}"
    for guess in (predict("42.own", "?", choices=["a", "b"]), predict("42.own", "?")):
        asked = json.dumps({"asked": guess.asked})
        room.ask("PUT", f"/{room.code}/questions/42.own", asked, Authorization=room.key)
        room.press("ask", question="42.own")
        assert room.ask("POST", f"/{room.code}", "key=42.own&answer=a", Cookie=cookie)[0] == 200


def test_a_question_may_change_its_form_while_it_is_asked(room: Class):
    def page(guess: Prediction, **measured: Any) -> str:
        asked = json.dumps({"asked": guess.asked, **measured})
        room.ask("PUT", f"/{room.code}/questions/42.own", asked, Authorization=room.key)
        return room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]

    choice = predict("42.own", "?", choices=["a", "b"])
    number = predict("42.own", "?")
    page(choice)
    room.press("ask", question="42.own")
    for voter in voters(5):
        room.vote(voter, "a", "42.own")
    assert "Right: 100 % of 5." in page(choice, measured="a")
    assert "Nothing has been measured yet" in page(number)
    assert "as soon as there are 5 answers" in page(number, measured=3)
    assert "Right: 100 % of 5." in page(choice, measured="a")


def test_only_the_key_opens_the_teachers_page_and_no_page_shows_it(room: Class):
    key = room.key.replace("-", "")
    for cookie in ("", "teacher=", f"teacher={key[:-1]}?"):
        assert room.ask("POST", "/teacher", "do=ask&question=02.three", Cookie=cookie)[0] == 401
        assert "The teacher’s page" in room.ask("GET", "/teacher", Cookie=cookie)[1]
    asked = json.dumps({"asked": predict("42.own", "How many?").asked})
    for given, status in (("", 401), ("Bearer WRONG", 401), (f"Bearer {room.key}", 200)):
        assert (
            room.ask("PUT", f"/{room.code}/questions/42.own", asked, Authorization=given)[0]
            == status
        )
    crossed = {"Cookie": f"teacher={room.key}", "Sec-Fetch-Site": "cross-site"}
    assert room.ask("POST", "/teacher", "do=ask&question=02.three", **crossed)[0] == 403
    room.press("ask", question="02.three")
    paths = (f"/{room.code}/projector", f"/{room.code}", "/teacher", f"/{room.code}/state")
    pages = "".join(room.ask("GET", path, Cookie=f"teacher={room.key}")[1] for path in paths)
    assert key not in pages.replace("-", "")
    assert not re.search(r'(src|href)="(?!/|data:)', pages)
    assert all(room.ask("POST", "/teacher", "key=guess")[0] in (401, 429) for _ in range(20))


def test_a_browser_gets_a_page_about_what_is_wrong(room: Class):
    for path in ("/", "/KQ4", f"/{room.code}/projectors"):
        status, page = room.ask("GET", path, Accept="text/html,*/*")
        assert status == 404
        assert "<h1>There is no such class, or its lesson has ended.</h1>" in page
    assert room.ask("GET", f"/{room.code}/", Accept="text/html")[0] == 200
    assert room.ask("GET", "/KQ4")[1] == "there is no such class, or its lesson has ended\n"


def test_behind_a_proxy_all_its_addresses_have_the_path(tmp_path: Path):
    public = "https://hub.example.org/services/wall"
    room = Class(tmp_path, "--behind", public, "--code", "ourclass")
    try:
        assert room.code == "OURCLASS"
        assert room.ask("GET", f"/{room.code}")[0] == 404
        status, page = room.ask("GET", f"/services/wall/{room.code}/projector")
        assert status == 200
        assert f"{public}/OURCLASS" in page
        style, script = re.findall(r'(?:href|src)="(/[^"]+)"', page)
        assert [room.ask("GET", path)[0] for path in (style, script)] == [200, 200]
        assert 'data-state="/services/wall/OURCLASS/state"' in page
        # A student's page may set cookies for all names below the hub's. A browser takes one with
        # this prefix only for the name that sets it, and only if it has these attributes.
        for name in ("voter", "__Host-voter"):
            head = f"GET /services/wall/OURCLASS HTTP/1.0\r\nCookie: {name}={'0' * 32}\r\n\r\n"
            said = raw(room.at, head.encode())
            (voter,) = re.findall(rb"set-cookie: __Host-voter=(\w+); .+ Path=/; .+ Secure\r", said)
            assert (voter == b"0" * 32) == (name == "__Host-voter")
    finally:
        room.kill()


@pytest.mark.skipif(os.name == "nt", reason="a socket at a path")
def test_at_a_socket_it_is_alone_and_takes_the_place_of_one_that_was_killed(tmp_path: Path):
    """On a hub, where any user could take a port, but not a name in a teacher's folder."""
    options = (
        "--behind",
        "http://127.0.0.1:1/services/wall",
        "--socket",
        str(tmp_path / "socket"),
        "--code",
        "ourclass",
    )

    def asked() -> str:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(tmp_path / "socket"))
            line.sendall(
                b"GET /services/wall/OURCLASS/state HTTP/1.0\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n"
            )
            return line.recv(99).decode().splitlines()[0]

    for folder in ("first", "second"):
        room = Class(tmp_path / folder, *options)
        assert asked() == "HTTP/1.1 200 OK"
        assert not (tmp_path / "socket").stat().st_mode & 0o022
        second = subprocess.run(
            Class.command(1, tmp_path / "third", *options), text=True, capture_output=True
        )
        assert (second.returncode, second.stderr) == (
            1,
            f"{tmp_path}/socket: another wall is open there\n",
        )
        room.kill()


BAD = [
    ("GET", "/WRONG/state", None, 404),
    ("PUT", "/{code}/votes/x/02.three", "{{}}", 404),
    ("PUT", "/{code}/votes/{voter}/02.three", "x" * (LARGEST + 1), 413),
    ("PUT", "/{code}/votes/{voter}/02.three", "[" * LARGEST, 400),
    ("PUT", "/{code}/votes/{voter}/02.three", "\0\xff", 400),
    ("PUT", "/{code}/votes/{voter}/02.three", '{{"answer": NaN, "at": 1}}', 422),
    ("PUT", "/{code}/votes/{voter}/02.three", '{{"answer": {{"mmap": 1}}, "at": 1e9}}', 422),
    ("PUT", "/{code}/votes/{voter}/no-such", '{{"answer": 1, "at": 1}}', 404),
    ("POST", "/{code}/state", "", 404),
    ("DELETE", "/{code}", None, 405),
    ("GET", "/nothing/at/all", None, 404),
    ("PUT", "/{code}/questions/x", "{{}}", 401),
]


@pytest.mark.slow
def test_what_is_malformed_gets_a_clear_status_and_leaves_nothing(room: Class):
    """Beside silent connections. The class votes meanwhile."""
    room.press("ask", question="02.three")
    silent = [socket.create_connection(("127.0.0.1", room.port)) for _ in range(200)]
    process = psutil.Process(room.process.pid)

    def bad(turn: int) -> None:
        method, path, body, status = BAD[turn % len(BAD)]
        fill = {"code": room.code, "voter": secrets.token_hex(16)}
        text = body and body.format(**fill)
        assert room.ask(method, path.format(**fill), text and text.encode("latin1"))[0] in (
            status,
            429,
        ), path

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(bad, range(240)))
        before = process.memory_info().rss
        on_disk = size_of(room.folder)
        done = pool.map(bad, range(1200))
        assert [room.vote(voter, PEAKS) for voter in voters(20)] == [200] * 20
        list(done)
    assert raw(room.at, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    chunks = (
        b"GET /%b/state HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1\r\nx\r\n" * 20_000
    )
    # they'd be handled all at once
    assert raw(room.at, chunks % room.code.encode()).startswith(b"HTTP/1.1 411")
    for more in (b"x" * 100_000, b" HTTP/1.1\r\nHost: x\r\n%b\r\n" % (b"a: b\r\n" * 100)):
        assert raw(room.at, b"GET /" + more).startswith(b"HTTP/1.1 431")  # nor all of these
    assert process.memory_info().rss < before + 24 * MiB
    assert size_of(room.folder) < on_disk + MiB
    assert room.state()["answers"] == 20
    assert not any(line.close() for line in silent)


@pytest.mark.slow
def test_no_answer_that_was_acknowledged_is_lost_when_it_is_killed(room: Class):
    room.press("ask", question="02.three")
    acknowledged: dict[str, float] = {}
    for turn in range(5):
        of = voters(60)
        over = threading.Event()

        def vote_all(mine: list[str], turn: int = turn, over: threading.Event = over) -> None:
            for voter in mine:
                try:
                    if (
                        not over.is_set()
                        and room.vote(voter, PEAKS | {"slurp": float(turn)}) == 200
                    ):
                        acknowledged[voter] = turn
                except (OSError, HTTPException):
                    return  # it has been killed

        with ThreadPoolExecutor(3) as pool:
            running = [pool.submit(vote_all, of[at::3]) for at in range(3)]
            until(lambda least=20 * turn + 3 * turn: len(acknowledged) > least)
            room.kill()
            over.set()
            [one.result() for one in running]
        code = room.code
        room.start()
        assert room.code == code
    assert len(acknowledged) > 20
    assert room.state()["answers"] >= len(acknowledged)
    room.kill()
    with closing(sqlite3.connect(room.folder / "wall" / "wall.sqlite")) as kept:
        found = {
            voter: json.loads(answer)["slurp"]
            for voter, answer in kept.execute("select voter, answer from votes")
        }
    assert acknowledged.items() <= found.items()


# --- the notebook ---------------------------------------------------------------------------------
@pytest.fixture
def student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("ZERO_COPY_CLASS", raising=False)
    yield
    join()


def join_by_environment() -> None:
    """As in the first cell of a kernel on a hub, where nobody types anything."""
    students._joined = None


def test_what_is_predicted_is_on_the_wall_once(
    student: None, room: Class, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(ValueError, match="isn't the address of a class"):
        join("KQ4T")
    with pytest.raises(ValueError, match=r"there is no class .*/ZZZZ"):
        join(room.address[:-4] + "ZZZZ")
    guess = predict("01.touch", "?", choices=["1 byte", "64 bytes", "1 page", "16 pages"])
    guess.keep("1 byte")
    assert guess.status == "kept: 1 byte"
    assert "Joined." in repr(join(room.address.replace(room.code, room.code.lower())))
    assert (
        guess.widget.children[-1].value == "<em>kept: 1 byte; on the wall, without your name</em>"
    )
    guess.keep("1 page")
    quiz("02.counter").feedback("c")
    quiz("02.counter").feedback("b")
    (voter,) = [state.read("wall")["voter"][1]]
    join(room.address)  # the kernel was restarted: still the same voter
    guess.keep("16 pages")
    monkeypatch.setenv("ZERO_COPY_CLASS", room.address)
    join_by_environment()
    guess.keep("64 bytes")
    assert room.state() | {"joined": 1, "waiting": 1} == room.state()
    room.press("ask", question="01.touch")
    room.press("measured")
    guess.keep("1 page")
    assert guess.status.endswith("not on the wall: its measurement is shown there already")
    guess.beside("1 page")
    guess.keep("1 byte")
    room.kill()
    with closing(sqlite3.connect(room.folder / "wall" / "wall.sqlite")) as kept:
        rows = kept.execute("select key, voter, answer from votes order by key").fetchall()
    assert rows == [("01.touch", voter, '"64 bytes"'), ("02.quiz-counter", voter, '"c"')]


def test_a_restarted_kernel_goes_on_as_the_same_voter(
    student: None, room: Class, monkeypatch: pytest.MonkeyPatch
):
    """For a sitting. Whoever has left, or is the teacher, doesn't come back as a voter."""
    guess = predict("04.turned", "?", unit="pages")

    def after_a_restart(number: float) -> str:
        students._joined = None
        students._status.clear()
        guess.keep(number)
        return guess.status

    join(room.address)
    guess.keep(1)
    assert after_a_restart(2) == "kept: 2 pages; on the wall, without your name"
    assert room.state()["joined"] == 1
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: now + 5 * 3600)
        assert after_a_restart(3) == "kept: 3 pages"
    join(room.address, key=room.key)
    assert after_a_restart(4) == "kept: 4 pages"
    join(room.address)
    join()
    assert after_a_restart(5) == "kept: 5 pages"
    join(room.address)
    room.kill()
    assert after_a_restart(6) == "kept: 6 pages"  # nobody is to wonder at home


def test_a_teachers_notebook_measures_and_does_not_vote(student: None, room: Class):
    with pytest.raises(ValueError, match="isn't the key of this wall"):
        join(room.address, key="WRONG")
    join(room.address, key=room.key)
    guess = predict("04.turned", "How many pages turn anonymous?", unit="pages")
    guess.keep(3)
    guess.beside(17)
    before = room.state()["teacher"]
    predict("my.own", "How many?").beside(3)
    assert room.state()["teacher"] != before  # so the page lists it by itself
    listed = re.findall(
        '<optgroup label="(.+?)"', room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]
    )
    assert listed[:2] == ["your notebook", "00"]
    assert len(listed) == 13
    room.press("ask", question="04.turned")
    room.press("measured")
    assert room.state()["answers"] == 0
    assert (
        "17 pages</strong>, in your teacher&#39;s notebook"
        in room.ask("GET", f"/{room.code}/projector")[1]
    )
    shown = room.state()["projector"]
    guess.beside(18)
    assert room.state()["projector"] != shown  # so the page shows by itself what came later
    assert "18 pages</strong>" in room.ask("GET", f"/{room.code}/projector")[1]


def test_the_address_in_the_browsers_bar_is_the_classs(student: None, room: Class):
    assert "Joined." in repr(join(f"{room.address}/projector"))
    assert "Joined." in repr(join(f"{room.at}/{room.code}/"))
    assert "Joined." in repr(join(f"{room.address.lower()}/state"))
    assert state.read("wall")["voter"][0] == room.address
    for given in (room.at, "KQ4T", f"ftp://{room.at}/{room.code}", "http://[::1/KQ4T"):
        with pytest.raises(ValueError, match=f"^'{re.escape(given)}' isn't the address of a class"):
            join(given)


@pytest.mark.parametrize("status", [429, 502, 503, 507, 403, 405, 100])
def test_an_answer_that_refuses_is_told_from_silence(student: None, status: int):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    line, _ = server.accept()
                    with line:
                        line.recv(1000)
                        line.sendall(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode())

        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/KQ4T"
        if status < 429:
            with pytest.raises(ValueError, match=rf"KQ4T answered, but not as a wall \({status}\)"):
                join(address)
            return
        told = f"it takes nothing now ({status}); ask your teacher"
        assert f"The wall answered, but {told}." in repr(join(address))
        guess = predict("04.turned", "?", unit="pages")
        guess.keep(3)
        assert guess.status.endswith(f"not on the wall yet: {told}")


def test_a_clock_that_jumps_back_keeps_no_newer_answer_off_the_wall(
    student: None, room: Class, monkeypatch: pytest.MonkeyPatch
):
    join(room.address)
    guess = predict("04.turned", "?", unit="pages")
    guess.keep(1)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**12)
    guess.keep(64)
    assert guess.status.endswith("on the wall, without your name")
    room.press("ask", question="04.turned")
    room.kill()
    with closing(sqlite3.connect(room.folder / "wall" / "wall.sqlite")) as kept:
        assert kept.execute("select answer from votes").fetchall() == [("64.0",)]
    room.start()
    monkeypatch.setattr(students, "_last", 0)  # the kernel was restarted meanwhile
    guess.keep(65)
    assert guess.status.endswith(
        "not on the wall: it has a later answer of yours. Is this machine's clock right?"
    )


def silent(line: socket.socket) -> None:
    time.sleep(2)


def garbage(line: socket.socket) -> None:
    line.sendall(b"\x00\xff" * 5000)


def endless(line: socket.socket) -> None:
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    for _ in range(100):
        line.sendall(bytes(10**6))


def dripping(line: socket.socket) -> None:
    for letter in b"HTTP/1.1 200 OK\r\n":
        line.sendall(bytes([letter]))
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize("hostile", [silent, garbage, endless, dripping, None])
def test_no_notebook_waits_for_a_wall_that_is_slow_hostile_or_gone(
    student: None, hostile: Callable[[socket.socket], None] | None
):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                    with line:
                        line.settimeout(3)
                        line.recv(1000)
                        hostile(line)
                except OSError:
                    if server.fileno() < 0:
                        return

        if hostile:
            threading.Thread(target=serve, daemon=True).start()
        else:
            server.close()
        began = time.monotonic()
        join(f"http://127.0.0.1:{port}/KQ4T")
        middle = time.monotonic()
        predict("04.turned", "?", unit="pages").keep(secrets.randbelow(1000))
        assert max(time.monotonic() - middle, middle - began) < students.WAIT_S + 0.2
        assert predict("04.turned", "?", unit="pages").value is not None


@pytest.mark.measured
def test_what_a_slow_wall_missed_arrives_when_it_is_back(
    student: None, room: Class, monkeypatch: pytest.MonkeyPatch
):
    join(room.address)
    room.kill()
    guess = predict("04.turned", "?", unit="pages")
    for number in (1, 2, 64):
        guess.keep(number)
    assert guess.status.endswith(students.LATER)
    monkeypatch.setenv("ZERO_COPY_CLASS", room.address)
    join_by_environment()
    guess.keep(65)
    # on a hub there may be no wall, and nobody is to wonder
    assert guess.status == "kept: 65 pages"
    room.start()
    assert until(lambda: students.said(guess.key) == "on the wall, without your name")
    room.press("ask", question="04.turned")
    assert room.state()["answers"] == 1
