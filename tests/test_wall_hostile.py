"""The wall against one who stuffs its box, forges a form or keeps its sockets busy; and on a full
or deleted disk.
"""

import http.cookies
import json
import os
import re
import resource
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from serving import until
from starlette.requests import Request
from walls import Class, limit_files, voters

from helpers.wall import ballots
from helpers.wall.ballots import Ballots, Refused
from helpers.wall.server import cookie

PEAKS = {"slurp": 256.0, "async chunks": 1.0, "mmap": 0.0}


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Ballots]:
    box = Ballots(tmp_path)
    yield box
    box.connection.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Class]:
    room = Class(tmp_path)
    yield room
    room.kill()


def teachers_page(room: Class) -> str:
    return room.ask("GET", "/teacher", Cookie=f"teacher={room.key}")[1]


# --- the door -------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_door_of_the_classs_size_stops_a_thousand_made_up_voters(tmp_path: Path):
    room = Class(tmp_path, "--size", "30")
    try:
        room.press("ask", question="02.three")
        honest = voters(5)
        assert [room.vote(voter, PEAKS) for voter in honest] == [200] * 5
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda voter: room.vote(voter, PEAKS), voters(300)))
        assert said.count(200) == 25 and set(said) == {200, 503} and room.state()["joined"] == 30
        assert room.vote(honest[0], PEAKS) == 200  # who is in stays in
        assert "The door is closed" in teachers_page(room)
        status, page = room.ask("GET", f"/{room.code}")
        assert status == 200 and "Ask your teacher" in page
        room.press("door", more="5")
        assert room.vote(*voters(1), PEAKS) == 200 and "The door is open" in teachers_page(room)
    finally:
        room.kill()


def test_the_teacher_closes_the_door_and_opens_it(room: Class):
    inside, outside = voters(2)
    assert room.vote(inside, PEAKS) == 200
    assert room.press("door", more="0") == 303
    closed = room.state()["teacher"]
    assert (room.vote(inside, PEAKS), room.vote(outside, PEAKS)) == (200, 503)
    # nor "You have joined."
    assert "The first question comes" not in room.ask("GET", f"/{room.code}")[1]
    room.kill()
    room.start()
    assert room.vote(outside, PEAKS) == 503
    room.press("door", more="100")
    assert room.vote(outside, PEAKS) == 200 and room.state()["teacher"] != closed


def test_a_school_behind_one_address_gets_in_and_one_program_gets_no_further(box: Ballots):
    for voter in voters(200):
        box.join(voter, "192.0.2.1")
    with pytest.raises(Refused, match="too many requests; try again in a minute"):
        for voter in voters(600):
            box.join(voter, "192.0.2.1")
    assert box.one("select count(*) from voters") < 600
    box.join(*voters(1), "192.0.2.2")


@pytest.mark.slow
@pytest.mark.parametrize("proxies", [0, 1, 2])
def test_the_forwarded_address_counts_behind_a_proxy_only(tmp_path: Path, proxies: int):
    """The last of them: that's the one which the proxy has added. A second proxy adds that of the
    first.
    """
    room = Class(
        tmp_path,
        *(["--behind", "http://127.0.0.1:1", "--proxies", str(proxies)] if proxies else []),
    )
    try:

        def joins(forwarded: str) -> int:
            path = f"/{room.code}/voters/{secrets.token_hex(16)}"
            added = forwarded + ", 127.0.0.1" * (proxies == 2)
            return room.ask(
                "PUT", path, "{}", **{"X-Forwarded-For": "192.0.2.1", "x-forwarded-for": added}
            )[0]

        assert until(lambda: joins(f"192.0.2.{secrets.randbelow(200)}, 192.0.2.9") == 429)
        assert joins("192.0.2.9, 192.0.2.3") == (200 if proxies else 429)
    finally:
        room.kill()


def test_the_votes_of_a_question_are_taken_back_and_it_begins_anew(room: Class):
    of, false = voters(3), voters(20)
    assert [room.vote(voter, "1 MiB", "02.chunk") for voter in of] == [200] * 3
    room.press("ask", question="02.three")
    assert {room.vote(voter, PEAKS) for voter in of + false} == {200}
    cookie = {"Cookie": f"voter={of[0]}"}
    assert "Your answer" in room.ask("GET", f"/{room.code}", **cookie)[1]
    room.press("revealed")
    before = room.state()
    assert "Take back the votes" in teachers_page(room) and room.press("take back") == 303
    now = room.state()
    # who has answered nothing else joins anew
    assert (now["joined"], now["answers"], now["waiting"]) == (3, 0, 3)
    assert all(now[page] != before[page] for page in ("question", "phone", "projector", "teacher"))
    assert "Your answer" not in room.ask("GET", f"/{room.code}", **cookie)[1]
    room.press("take back")
    assert room.state()["phone"] != now["phone"]  # though the question is where it was
    room.vote(of[0], PEAKS)
    assert (room.state()["answers"], room.state()["again"]) == (1, 0)


def test_a_form_that_is_sent_again_does_nothing(tmp_path: Path):
    """As when the page has waited too long for an answer. On a hub, the next class has the same
    code.
    """
    room = Class(tmp_path, "--code", "KQ4T")
    room.press("ask", question="04.turned")
    for what in ("take back", "end"):
        shown = room.of()
        for voter in voters(2):
            room.vote(voter, 1, "04.turned")
            room.press(what, of=shown, keep="no")
        assert room.state()["joined"] == 1
    room.kill()


def test_taking_votes_back_before_anything_is_asked_takes_nothing(box: Ballots):
    box.vote("04.turned", *voters(1), 64, 1)
    box.take_back()
    assert box.counts("04.turned") == (1, 0) and box.phase("04.turned") == ""


def test_a_picture_shows_no_single_vote_come_in(room: Class):
    room.press("ask", question="04.turned")
    of, seen = voters(9), Counter()
    for number, voter in enumerate(of[:5] + of):
        room.vote(voter, number, "04.turned")
        if number == 4:
            [room.press(step) for step in ("revealed", "again", "compared")]
        seen[re.search('alt=".+?"|$', room.ask("GET", f"/{room.code}/projector")[1])[0]] += 1
    assert [*seen.values()] == [4, 5, 5]


# --- other sites ----------------------------------------------------------------------------------
def test_no_other_site_votes_or_teaches(room: Class):
    """A raw client that sends neither header isn't a browser, and has no cookie that it wasn't
    given.
    """
    room.press("ask", question="02.three")
    form = urlencode([("key", "02.three"), *[("answer", "1")] * 3])
    elsewhere = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{room.port + 1}"},
        {"Origin": f"http://{room.at}.evil.example"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": f"http://{room.at}"},
        # whose name leads to the wall's address
        {"Origin": "http://evil.example", "Host": "evil.example"},
    ]
    for headers in elsewhere:
        assert room.ask("POST", f"/{room.code}", form, **headers)[0] == 403, headers
        ask = {"Cookie": f"teacher={room.key}"} | headers
        assert room.ask("POST", "/teacher", "do=ask&question=02.chunk", **ask)[0] == 403, headers
    assert room.state()["answers"] == 0 and room.state()["question"].startswith(
        f"{room.code} 02.three"
    )
    public = re.search('"address">(http://[^/]+)', room.ask("GET", f"/{room.code}/projector")[1])[1]
    for number, headers in enumerate(({}, {"Origin": f"http://{room.at}"}, {"Origin": public})):
        assert (
            room.ask("POST", f"/{room.code}", form, **headers | {"Sec-Fetch-Site": "same-origin"})[
                0
            ]
            == 200
        )
        assert room.ask("POST", f"/{room.code}", form, **headers)[0] == 200
        assert room.state()["answers"] == 2 * number + 2


def test_a_link_in_moodle_leads_back_to_the_same_voter(room: Class):
    """A browser sends a lax cookie with a link from another site, and a strict one not. The
    teacher's stays strict.
    """
    with closing(socket.create_connection(("127.0.0.1", room.port))) as line:
        line.sendall(f"GET /{room.code} HTTP/1.0\r\n\r\n".encode())
        (voter,) = re.findall("set-cookie: (voter=.+)\r", line.makefile(newline="").read())
    assert "SameSite=lax" in voter and "HttpOnly" in voter
    with closing(socket.create_connection(("127.0.0.1", room.port))) as line:
        line.sendall(f"POST /teacher HTTP/1.0\r\nContent-Length: 23\r\n\r\nkey={room.key}".encode())
        assert "SameSite=strict" in line.makefile(newline="").read()


def test_a_long_cookie_is_read_at_once(monkeypatch: pytest.MonkeyPatch):
    """What Python before 3.12.6 does with one in quotes takes a minute."""
    monkeypatch.setattr(http.cookies, "_unquote", lambda _: pytest.fail("it does that"))
    scope = {"type": "http", "headers": [(b"cookie", b'a="\\"; voter=0')]}
    assert cookie(Request(scope), "voter") == "0"


# --- the clock, the disk --------------------------------------------------------------------------
def test_an_answer_with_an_earlier_time_is_not_said_to_be_on_the_wall(room: Class):
    (voter,) = voters(1)

    def vote(answer: float, at: int) -> int:
        body = json.dumps({"answer": PEAKS | {"slurp": answer}, "at": at})
        return room.ask("PUT", f"/{room.code}/votes/{voter}/02.three", body)[0]

    assert [vote(1.0, 20), vote(2.0, 10), vote(1.0, 20), vote(3.0, 30)] == [200, 412, 200, 200]


def test_a_full_disk_is_said_and_loses_nothing(room: Class):
    room.press("ask", question="02.three")
    assert [room.vote(voter, PEAKS) for voter in voters(6)] == [200] * 6
    html, form = {"Accept": "text/html"}, urlencode([("key", "02.three"), *[("answer", "1")] * 3])
    for size, keep in ((20_000, "yes"), (10, "yes"), (10, "no")):  # bytes, of each file
        limit_files(room, size)
        status, page = room.ask(
            "POST",
            "/teacher",
            urlencode({"do": "end", "keep": keep, "of": room.of()}),
            Cookie=f"teacher={room.key}",
            **html,
        )
        assert status == 507 and "<h1>It can&#39;t be kept: " in page
    status, page = room.ask("POST", f"/{room.code}", form, **html)
    assert status == 507 and "<h1>It can&#39;t be kept: " in page
    assert room.vote(*voters(1), PEAKS) == 507
    assert room.state()["answers"] == 6 and not [*(room.folder / "wall").glob("*.json")]
    limit_files(room, resource.RLIM_INFINITY)
    assert room.press("end", keep="yes") == 303
    (kept,) = (room.folder / "wall").glob("*.json")
    assert len(json.loads(kept.read_text())[0]["votes"]) == 6


def test_a_class_that_was_kept_in_part_is_not_counted_twice(
    box: Ballots, monkeypatch: pytest.MonkeyPatch
):
    """There was room for one of two files. The teacher tries again."""
    for voter in voters(5):
        box.vote("04.turned", voter, 64, 1)
    wrote, write = [], ballots.write_whole

    def full(path: Path, text: str) -> None:
        if len(wrote) == 1:
            raise OSError(28, "No space left on device")
        wrote.append(write(path, text))

    with monkeypatch.context() as disk, pytest.raises(OSError, match="No space"):
        disk.setattr(ballots, "write_whole", full)
        box.end(keep=True)
    assert box.counts("04.turned") == (5, 0)
    box.end(keep=True)
    assert len([*box.folder.glob("*.json")]) == 1


@pytest.mark.parametrize("only", ["", "wall/wall.sqlite", "wall/wall.sqlite-wal"])
def test_a_folder_that_is_deleted_while_it_runs_is_written_anew(room: Class, only: str):
    room.press("ask", question="02.three")
    assert [room.vote(voter, PEAKS) for voter in voters(6)] == [200] * 6
    (room.folder / only).unlink() if only else shutil.rmtree(room.folder)
    assert room.vote(*voters(1), PEAKS) == 200
    code = room.code
    room.kill()
    room.start()
    assert room.code == code and room.state()["answers"] == 7
    shutil.rmtree(room.folder)
    assert (
        room.press("end", keep="yes") == 303 and len([*(room.folder / "wall").glob("*.json")]) == 1
    )


def test_nothing_is_acknowledged_where_nothing_can_be_kept(room: Class):
    room.press("ask", question="02.three")
    assert room.vote(*voters(1), PEAKS) == 200
    shutil.rmtree(room.folder)
    room.folder.write_text("a file in its place")
    assert room.vote(*voters(1), PEAKS) == 507
    room.folder.unlink()
    assert room.vote(*voters(1), PEAKS) == 200 and room.state()["answers"] == 2


def test_a_folder_that_was_there_is_closed(tmp_path: Path):
    tmp_path.chmod(0o755)
    Ballots(tmp_path).connection.close()
    assert tmp_path.stat().st_mode & 0o077 == 0


# --- sockets and the terminal ---------------------------------------------------------------------
def crowd(room: Class, seconds: float, most: int) -> None:
    """Silent connections, as many as `most`, renewed again and again."""
    lines, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):
            lines.append(line := socket.socket())
            line.setblocking(False)
            line.connect_ex(("127.0.0.1", room.port))
        if len(lines) >= most:
            lines.pop(0).close()
        time.sleep(0.0005)
    for line in lines:
        line.close()


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize(("soft", "hard", "most"), [(256, 4096, 3000), (64, 64, 500)])
def test_silent_connections_keep_no_phone_out_and_the_terminal_readable(
    tmp_path: Path, soft: int, hard: int, most: int
):
    """Nor does the wall wait for anybody to read the terminal. With 64 files, it has too few for
    all that knock, and a phone may have to wait until they are gone.
    """
    reader, writer = os.pipe()
    room = Class(tmp_path, files=(soft, hard), stderr=writer)
    os.close(writer)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], most + 200), before[1]))

    def seen() -> bool:
        with suppress(ConnectionError):
            return room.ask("GET", f"/{room.code}")[0] == 200
        return False  # cut off: a browser tries again

    try:
        flood = threading.Thread(target=crowd, args=[room, 8.0, most])
        flood.start()
        time.sleep(4)
        pages = [seen() for _ in iter(flood.is_alive, False)]
        if hard > 64:
            assert len(pages) > 1
            assert all(pages)
        assert until(seen)
        os.set_blocking(reader, False)
        with suppress(BlockingIOError):
            said = os.read(reader, 1 << 16)
            assert said.count(b"\n") < 5 and (hard > 64 or b"Too many open files" in said)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        room.kill()
        os.close(reader)


@pytest.mark.slow
@pytest.mark.measured
def test_whoever_begins_a_body_and_stops_is_cut_off_for_another(tmp_path: Path):
    """A class that has room for sixteen."""
    room = Class(tmp_path, files=(64, 64))
    head = f"POST /{room.code} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n".encode()
    lines = []
    try:
        for _ in range(40):
            lines.append(line := socket.create_connection(("127.0.0.1", room.port), timeout=1))
            line.sendall(head)
            time.sleep(0.02)
        assert room.ask("GET", f"/{room.code}")[0] == 200
        assert lines[0].recv(100) == b""
        with pytest.raises(TimeoutError):
            lines[-1].recv(100)
    finally:
        room.kill()
        for line in lines:
            line.close()


def test_whoever_reads_no_answer_keeps_nobody_else_out(tmp_path: Path):
    """Nor whoever came first. A class that has room for sixteen."""
    room = Class(tmp_path, files=(64, 64))
    with ExitStack() as opened:
        first = opened.enter_context(socket.create_connection(("127.0.0.1", room.port)))
        for _ in range(20):
            line = opened.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            line.bind(("127.0.0.2", 0))
            line.connect(("127.0.0.1", room.port))
            line.sendall(b"GET /wall.js HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        time.sleep(2)
        [room.state() for _ in range(20)]
        first.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"404" in first.recv(99)
    room.kill()


@pytest.mark.slow
@pytest.mark.measured
def test_nobody_waits_for_all_that_another_address_asks_for(room: Class):
    """Three hundred connections of one machine ask for twenty pages each, and another machine asks
    for twenty.
    """
    with ExitStack() as opened:
        for _ in range(300):
            line = socket.create_connection(
                ("127.0.0.1", room.port), source_address=("127.0.0.2", 0)
            )
            opened.enter_context(line).sendall(
                f"GET /{room.code}/state HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 20
            )
        [room.state() for _ in range(20)]
        assert line.recv(1 << 16).count(b"HTTP/1.1 200 OK") < 10


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--size", "-3", "--size is how many can join, not -3"),
        ("--port", "99999", "--port is from 1 to 65535, not 99999"),
    ],
)
def test_a_number_that_is_none_is_refused(tmp_path: Path, option: str, value: str, said: str):
    ended = subprocess.run(
        Class.command(8765, tmp_path, option, value), capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not [*tmp_path.iterdir()]
