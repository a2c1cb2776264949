"""The wall: a class predicts, sees the spread, votes again, measures. `make wall` starts it. Below the class's code:

GET  /KQ4T                  a page to vote on without a kernel, for phones; POST: its form
PUT  /KQ4T/voters/V         a notebook joins: V is a random number
PUT  /KQ4T/votes/V/02.peak  its answer: {"answer": 256, "at": a time in ns}
GET  /KQ4T/projector        what the class sees
GET  /KQ4T/state            what changes on the pages, which ask for it again and again
PUT  /KQ4T/questions/02.peak  from the teacher's notebook, with the key: {"asked": …, "measured": …}
GET  /teacher               the teacher's page; POST: its buttons
"""

import argparse
import asyncio
import contextlib
import errno
import json
import logging
import re
import secrets
import socket
import sqlite3
import sys
from dataclasses import replace
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit
from weakref import WeakValueDictionary

import segno
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Scope
from uvicorn import Server

from ..folders import TEACHER
from ..measure.child import resource  # None on Windows
from ..serving_limits import CrowdedProtocol, Terminal, body_of, limited
from ..teach.wall import ADDRESS
from ..units import KiB
from .ballots import AGAIN, ASKED, COMPARED, FOLDER, MEASURED, REVEALED, Ballots, Refused, checked
from .charts import MIN_ANSWERS, chart
from .course import GRADES, TEMPLATES
from .pages import filled, text

LARGEST = 4 * KiB  # bytes of a body
MOST_FILES, BACKLOG = 4096, 512
VOTER = re.compile("[0-9a-f]{32}")
NUMBERS = re.compile(r"(localhost|[\d.]+)(:\d+)?")  # a host that is no name
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class Wall:
    """`root`: the path below which it is served. `public`: the address of that path for the class. `proxies`: how many
    are before it, each of which says where a request comes from."""

    def __init__(self, ballots: Ballots, public: str, proxies: int) -> None:
        self.ballots, self.public, self.proxies = ballots, public, proxies
        self.netloc, self.root = urlsplit(public)[1:3]
        self.lately = ""  # what the last lesson left
        self.drawing = asyncio.Lock()
        self.spread = "", 0, []  # the page that it is on, how many votes, and the pairs of answers
        self.drawn: tuple[Any, str] = None, ""  # the last picture, and what it's made of
        routes = [
            Route("/teacher", self.teacher, methods=["GET", "POST"]),
            *(Route(f"/{name}", FileResponse(TEMPLATES / name)) for name in ("wall.css", "wall.js")),
            Route("/{code}/projector", self.projector),
            Route("/{code}/state", self.state),
            Route("/{code}/voters/{voter}", self.joins, methods=["PUT"]),
            Route("/{code}/votes/{voter}/{key}", self.votes, methods=["PUT"]),
            Route("/{code}/questions/{key}", self.define, methods=["PUT"]),
            Route("/{code:path}", self.phone, methods=["GET", "POST"]),  # any other address is no class's
        ]
        full = dict.fromkeys((Refused, OSError, sqlite3.OperationalError, ClientDisconnect), self.refused)
        self.starlette = Starlette(routes=[Mount(self.root or "/", routes=routes)], exception_handlers=full)
        self.turns = WeakValueDictionary()  # by address: whoever is next

    async def app(self, scope: Scope, *more: Any) -> None:
        """Each address begins one request in a turn of the loop, so that nobody waits for all those of another."""
        async with self.turns.setdefault(self.client(Request(scope)), asyncio.Lock()):
            await asyncio.sleep(0)
        await self.starlette(scope, *more)

    @property
    def address(self) -> str:
        return f"{self.public}/{self.ballots.about('code')}"

    def admit(self, request: Request) -> None:
        """Refused for another class's code."""
        if not same(request.path_params["code"].strip("/").upper(), self.ballots.about("code")):
            raise Refused(404, "there is no such class, or its lesson has ended")

    def voter(self, voter: str) -> str:
        """Refused if that can't be a voter's number, or it comes too often."""
        if not VOTER.fullmatch(voter):
            raise Refused(404, "that's no voter's number")
        self.ballots.limit("voter", voter)
        return voter

    def client(self, request: Request) -> str:
        """The address that it comes from. A proxy adds it to those that the client says it has come through."""
        forwarded = ",".join(request.headers.getlist("X-Forwarded-For")).split(",")
        return forwarded[-self.proxies :][0].strip() if self.proxies else request.client.host

    def same_site(self, request: Request) -> None:
        """Refused for a form on another site's page, or under a name that another site may have given to this address.
        Browsers tell, and whatever else sends forms has no cookies."""
        host = request.headers.get("Origin", "://" + self.netloc).partition("://")[2]
        fetched = request.headers.get("Sec-Fetch-Site", "none")
        own = host == self.netloc or (NUMBERS.fullmatch(host) and host == request.headers.get("Host"))
        if fetched not in ("same-origin", "none") or not own:
            raise Refused(403, "that came from another page")

    async def refused(self, request: Request, error: Exception) -> Response:
        status, why = error.args if isinstance(error, Refused) else (507, f"it can't be kept: {error}")
        if "text/html" in request.headers.get("Accept", ""):
            return HTMLResponse(filled("wall_refused.html.j2", root=self.root, why=why), status, headers=HEADERS)
        return PlainTextResponse(f"{why}\n", status, headers=HEADERS)

    # --- notebooks ---
    async def joins(self, request: Request) -> Response:
        self.admit(request)
        if "Authorization" in request.headers:
            self.knows(request.headers["Authorization"])
        else:
            self.ballots.join(self.voter(request.path_params["voter"]), self.client(request))
        return JSONResponse({})

    async def votes(self, request: Request) -> Response:
        self.admit(request)
        voter, sent = self.voter(request.path_params["voter"]), await plain_data(request)
        at = sent.get("at")
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < 2**63:
            raise Refused(422, '"at" is a time in nanoseconds')
        self.ballots.vote(request.path_params["key"], voter, sent.get("answer"), at, self.client(request))
        return JSONResponse({})

    async def define(self, request: Request) -> Response:
        self.admit(request)
        self.knows(request.headers.get("Authorization", ""))
        sent = await plain_data(request)
        self.ballots.define(request.path_params["key"], sent.get("asked"), sent.get("measured"))
        return JSONResponse({})

    def knows(self, key: str) -> None:
        """Refused for any key but the teacher's."""
        if not same(key.removeprefix("Bearer ").replace("-", "").upper(), self.ballots.about("key")):
            self.ballots.limit("key")
            raise Refused(401, "that isn't the teacher's key, which is in the terminal")

    # --- pages ---
    def page(self, template: str, **values: Any) -> Response:
        ballots, key = self.ballots, self.ballots.about("asked")
        values |= {
            "root": self.root, "address": self.address, "code": ballots.about("code"), "asked": ballots.known.get(key),
            "phase": ballots.phase(key), "live": self.live(), "least": MIN_ANSWERS,
        }  # fmt: skip
        return HTMLResponse(filled(template, **values), headers=HEADERS)

    def live(self) -> dict[str, Any]:
        """What the pages show without being made anew, and by name of a page, what it is made of. A spread is shown
        anew for MIN_ANSWERS more votes, so that nobody sees a single one come in."""
        ballots, key = self.ballots, self.ballots.about("asked")
        answers, again = ballots.counts(key)
        phase, (offered, waiting) = ballots.phase(key), ballots.offered()
        question = f"{ballots.about('code')} {key} {phase == MEASURED} {ballots.about('taken back')}"
        page, own = f"{question} {phase}", ballots.one("select count(own) from questions")
        votes, (of, seen, pairs) = (answers + again) * (phase in (REVEALED, COMPARED)), self.spread
        if of != page or len(pairs) < MIN_ANSWERS or votes >= seen + MIN_ANSWERS:
            self.spread = page, votes, ballots.rounds(key)
        return {
            "joined": ballots.joined, "answers": answers, "again": again,
            "waiting": waiting, "question": question, "phone": page,
            "teacher": f"{page} {offered} {own} {ballots.joined < ballots.seats}",
            "projector": f"{page} {self.spread[1]}",
        }  # fmt: skip

    async def state(self, request: Request) -> Response:
        self.admit(request)
        return JSONResponse(self.live(), headers=HEADERS)

    async def projector(self, request: Request) -> Response:
        self.admit(request)
        key = self.ballots.about("asked")
        picture = await self.picture(key) if self.ballots.phase(key) not in ("", ASKED) else ""
        measured, where = self.ballots.measured(key) if self.ballots.phase(key) == MEASURED else (None, "")
        told = in_words(self.ballots.known[key], measured) if measured is not None else ""
        qr = segno.make(self.address, error="m").svg_inline(border=2, omitsize=True)
        return self.page("wall_projector.html.j2", picture=picture, measured=told, where=where, qr=qr)

    async def picture(self, key: str) -> str:
        """As HTML; "" for too few answers. Drawn in a thread, one at a time, and again only when it has changed."""
        ballots, phase = self.ballots, self.ballots.phase(key)
        both = phase in (COMPARED, MEASURED) and ballots.counts(key)[1] > 0
        asked = replace(ballots.known[key], measured=ballots.measured(key)[0] if phase == MEASURED else None)
        self.live()
        made_of = asked, self.spread
        async with self.drawing:
            if self.drawn[0] != made_of:
                votes = [*zip(*made_of[1][2], strict=True)][: 1 + both]
                shown = await asyncio.to_thread(chart, asked, *votes)
                if shown:  # narrower than on paper, so that its letters are larger on the wall
                    shown.figure.set_figwidth(0.8 * shown.figure.get_figwidth())
                self.drawn = made_of, await asyncio.to_thread(shown._repr_html_) if shown else ""
            return self.drawn[1]

    async def phone(self, request: Request) -> Response:
        self.admit(request)
        voter, error = request.cookies.get("voter", ""), ""
        voter = voter if VOTER.fullmatch(voter) else secrets.token_hex(16)
        key = self.ballots.about("asked")
        asked = self.ballots.known.get(key)
        form = None
        if request.method == "POST":
            self.same_site(request)
            form = parse_qs((await body_of(request, LARGEST, Refused)).decode(errors="replace"), keep_blank_values=True)
        try:
            if form is None:
                self.ballots.join(self.voter(voter), self.client(request))
            else:
                if not asked or form.get("key") != [key]:
                    raise ValueError("The class is at another question now.")
                typed = form.get("answer", [])
                answer = typed[0] if asked.kind == "quiz" and typed else asked.prediction.read(typed) if typed else None
                if answer is None:
                    raise ValueError("Give an answer first.")
                self.ballots.vote(key, self.voter(voter), answer, 0, self.client(request))  # they come in their order
        except (ValueError, Refused) as why:  # the page is there all the same
            error = f"{why.args[-1][:1].upper()}{why.args[-1][1:]}"
        mine = checked(asked, self.ballots.answer(key, voter)) if asked else None  # it may have been asked differently
        told = in_words(asked, mine) if mine is not None else ""
        page = self.page("wall_phone.html.j2", mine=mine, told=told, error=error)
        page.set_cookie("voter", voter, httponly=True, samesite="lax", path=f"{self.root}/")  # comes with links, too
        return page

    async def teacher(self, request: Request) -> Response:
        key = request.cookies.get("teacher", "")
        if request.method == "POST":
            self.same_site(request)
            form = dict(parse_qsl((await body_of(request, LARGEST, Refused)).decode(errors="replace")))
            key = form.get("key", key).strip()
        try:
            self.knows(key)
        except Refused as why:
            error = why.args[1] if request.method == "POST" else ""
            page = filled("wall_key.html.j2", root=self.root, error=error)
            return HTMLResponse(page, 401 if error else 200, headers=HEADERS)
        if request.method == "POST":
            if form.get("of") == self.live()["phone"]:  # else the page was of something else, or its answer came late
                self.act(form.get("do", ""), form)
            done = RedirectResponse(f"{self.root}/teacher", 303)
            done.set_cookie("teacher", key, httponly=True, samesite="strict", path=f"{self.root}/teacher")
            return done
        asked, known, ours = self.ballots.about("asked"), self.ballots.known, self.ballots.of_lessons
        lessons = {n: list(of) for n, of in groupby(known.values(), lambda one: one.key[:2] * (one.key in ours))}
        following = dict(pairwise(known)).get(asked, "")
        return self.page(
            "wall_teacher.html.j2", lessons=lessons, next=following, seats=self.ballots.seats,
            offered=known.get(self.ballots.offered()[0]),
            advice=advice().get(asked, ""), worth=set(advice()), lately=self.lately,
            measurable=asked in known and self.ballots.measured(asked)[0] is not None,
        )  # fmt: skip

    def act(self, what: str, form: dict[str, str]) -> None:
        """A button of the teacher's page."""
        if what == "ask":
            self.lately = ""
            self.ballots.ask(form.get("question", ""))
        elif what in (REVEALED, AGAIN, MEASURED):
            self.ballots.move(what)
        elif what == "take back":
            self.ballots.take_back()
        elif what == "door" and (more := form.get("more", "")).isdecimal():
            self.ballots.note("seats", str(self.ballots.joined + int(more)))
        elif what == "end" and form.get("keep") in ("yes", "no"):
            files = self.ballots.end(form["keep"] == "yes")
            none = "deleted" if form["keep"] == "no" else f"deleted: no question had {MIN_ANSWERS} answers"
            self.lately = f"The lesson has ended. Its votes are {f'kept in {files[0]}' if files else none}."


async def plain_data(request: Request) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(sent := json.loads(await body_of(request, LARGEST, Refused)), dict):
            return sent
    raise Refused(400, "that isn't an object in JSON")


def same(given: str, right: str) -> bool:
    """In a time that doesn't tell how much of it is right."""
    return secrets.compare_digest(given.encode(errors="replace"), right.encode())


def in_words(asked: Any, answer: Any) -> str:
    if asked.kind == "quiz":
        return next((name for name in asked.names if name[1] == answer), str(answer))
    return asked.prediction.told(answer)


@cache
def advice() -> dict[str, str]:
    """What teacher/votes.md says, by the key of a question."""
    parts = re.split(r"^### (\S+)\n", (TEACHER / "votes.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = (re.split("^## |^Measure ", text, flags=re.MULTILINE)[0].strip() for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))


def own_address() -> str:
    """Of this machine, for others in its network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line, contextlib.suppress(OSError):
        line.connect(("192.0.2.1", 9))
        return line.getsockname()[0]
    return "127.0.0.1"


def listener(at: str | tuple[str, int]) -> socket.socket:
    """At a host and port, or at a path, where an earlier wall may have left its socket."""
    if isinstance(at, tuple):
        return socket.create_server(at, backlog=BACKLOG)
    with socket.socket(socket.AF_UNIX) as another, contextlib.suppress(FileNotFoundError):
        try:
            another.connect(at)
        except ConnectionRefusedError:
            Path(at).unlink()
        else:
            raise OSError(errno.EADDRINUSE, "another wall is open there")
    line = socket.socket(socket.AF_UNIX)
    line.bind(at)
    line.listen(BACKLOG)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(prog="make wall", description="A class's predictions, on one page.")
    parser.add_argument("--out", type=Path, default=GRADES, help="the folder of `make grade`; votes go into its wall/")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--behind", default="", help="a proxy's address for it: https://hub.example.org/services/wall")
    parser.add_argument("--proxies", type=int, default=1, help="how many are before it, with --behind")
    parser.add_argument("--socket", help="a path instead of the port, in a folder that only you and the proxy can open")
    parser.add_argument("--code", default="", help="the class's code, if not a new one: 4 to 16 letters and digits")
    parser.add_argument("--size", type=int, default=0, help="how many can join: phones and notebooks of the class")
    options = parser.parse_args()
    host = own_address()
    public = options.behind.rstrip("/") or f"http://{host}:{options.port}"
    if not ADDRESS.fullmatch(f"{public}/{options.code or 'KQ4T'}"):
        parser.error(f"{public}/{options.code} isn't the address of a class: see --behind and --code in --help")
    if options.size < 0:
        parser.error(f"--size is how many can join, not {options.size}")
    try:
        line = listener(options.socket or ("127.0.0.1" if options.behind else "", options.port))
        ballots = Ballots(options.out / FOLDER, options.code.upper(), options.size)
    except OSError as error:
        another = f'port {options.port}: {error.strerror}; `make wall WALLARGS="--port 9000"` takes another'
        why = f"{options.socket}: {error.strerror}" if options.socket else another
        sys.exit(str(error) if isinstance(error, BlockingIOError) else why)
    logging.basicConfig(handlers=[Terminal()])
    if resource:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MOST_FILES), hard))
        CrowdedProtocol.most = min(hard, MOST_FILES) // 4  # the others are on their way in or out
    wall = Wall(ballots, public, options.proxies if options.behind else 0)
    key = "-".join(re.findall("....", ballots.about("key")))
    alone = host == "127.0.0.1" and not options.behind
    own = public if options.socket else f"http://127.0.0.1:{options.port}{wall.root}"
    print(text("wall.txt.j2", wall=wall, own=own, key=key, alone=alone), flush=True)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(ballots.connection):
        Server(limited(wall.app, 2, CrowdedProtocol, backlog=BACKLOG, log_config=None)).run(sockets=[line])


if __name__ == "__main__":
    main()
