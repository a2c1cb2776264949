"""The wall: a class predicts, sees the spread, votes again, measures. `make wall` starts it. Below
the class's code:

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
import math
import os
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

import psutil
import segno
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.types import Scope
from uvicorn import Server

from ..folders import GRADES, TEACHER
from ..serving_limits import CrowdedProtocol, Terminal, body_of, limited
from ..show.figure import Picture
from ..teach.predict import NUMBERS, amount
from ..teach.wall_client import ADDRESS
from ..units import SIZES, KiB
from .ballots import FOLDER, Ballots, Refused, checked
from .charts import chart
from .pages import TEMPLATES, filled, text
from .questions import Question
from .spread import MIN_ANSWERS, Spread, changed, corrected, rule, share
from .steps import AGAIN, MEASURED, STEPS

LARGEST = 4 * KiB  # bytes of a body
MOST_FILES, BACKLOG = 4096, 512
FORM = 2.4  # of a picture: width by height
VOTER = re.compile("[0-9a-f]{32}")
MINUTES = re.compile(r"\d{1,3}(\.\d+)?")
HOST = re.compile(r"(localhost|[\d.]+)(:\d+)?")  # a host that is no name
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class Wall:
    """`root`: the path below which it is served. `public`: the address of that path for the class.
    `proxies`: how many are before it, each of which says where a request comes from.
    """

    def __init__(self, ballots: Ballots, public: str, proxies: int) -> None:
        self.ballots, self.public, self.proxies = ballots, public, proxies
        self.netloc, self.root = urlsplit(public)[1:3]
        # On a hub, a student's page may set cookies for all names below the hub's, but none that
        # begins like this.
        self.tls = public.startswith("https:")
        self.cookie = "__Host-voter" if self.tls else "voter"
        self.lately = ""  # what the last lesson left
        self.drawing = asyncio.Lock()
        self.spread = Spread()
        self.drawn: dict[tuple, str] = {}  # the last pictures, by what they're made of
        self.renew()
        routes = [
            Route("/teacher", self.teacher, methods=["GET", "POST"]),
            *(
                Route(f"/{name}", FileResponse(TEMPLATES / name))
                for name in ("wall.css", "wall.js")
            ),
            Route("/{code}/projector", self.projector),
            Route("/{code}/state", self.state),
            Route("/{code}/voters/{voter}", self.joins, methods=["PUT"]),
            Route("/{code}/votes/{voter}/{key}", self.votes, methods=["PUT"]),
            Route("/{code}/questions/{key}", self.define, methods=["PUT"]),
            Route(
                "/{code:path}", self.phone, methods=["GET", "POST"]
            ),  # any other address is no class's
        ]
        full = dict.fromkeys(
            (Refused, OSError, sqlite3.OperationalError, ClientDisconnect), self.refused
        )
        self.starlette = Starlette(
            routes=[Mount(self.root or "/", routes=routes)], exception_handlers=full
        )
        self.turns = WeakValueDictionary()  # by address: whoever is next

    async def app(self, scope: Scope, *more: Any) -> None:
        """Each address begins one request in a turn of the loop, so that nobody waits for all those
        of another.
        """
        async with self.turns.setdefault(self.client(Request(scope)), asyncio.Lock()):
            await asyncio.sleep(0)
        await self.starlette(scope, *more)

    @property
    def address(self) -> str:
        return f"{self.public}/{self.ballots.about('code')}"

    def admit(self, request: Request) -> None:
        """Refused for another class's code."""
        code = request.path_params["code"].strip("/").upper()
        if not same(code, self.ballots.about("code")):
            if code and same(code, self.ballots.about("ended")):
                raise Refused(404, "this lesson has ended. Thank you")
            raise Refused(404, "there is no such class, or its lesson has ended")

    def voter(self, voter: str) -> str:
        """Refused if that can't be a voter's number, or it comes too often."""
        if not VOTER.fullmatch(voter):
            raise Refused(404, "that's no voter's number")
        self.ballots.limit("voter", voter)
        return voter

    def client(self, request: Request) -> str:
        """The address that it comes from. A proxy adds it to those that the client says it has come
        through.
        """
        forwarded = ",".join(request.headers.getlist("X-Forwarded-For")).split(",")
        return (
            forwarded[-self.proxies :][0].strip() if self.proxies else (request.client or ("",))[0]
        )

    async def form(self, request: Request) -> str:
        """What a form says. Refused for one on another site's page, or under a name that another
        site may have given to this address. Browsers tell, and whatever else sends forms has no
        cookies.
        """
        host = request.headers.get("Origin", "://" + self.netloc).partition("://")[2]
        fetched = request.headers.get("Sec-Fetch-Site", "none")
        own = host == self.netloc or (HOST.fullmatch(host) and host == request.headers.get("Host"))
        if fetched not in ("same-origin", "none") or not own:
            raise Refused(403, "that came from another page")
        return (await body_of(request, LARGEST, Refused)).decode(errors="replace")

    async def refused(self, request: Request, error: Exception) -> Response:
        status, why = (
            error.args if isinstance(error, Refused) else (507, f"it can't be kept: {error}")
        )
        if "text/html" in request.headers.get("Accept", ""):
            return HTMLResponse(
                filled("refused.html.j2", root=self.root, why=why), status, headers=HEADERS
            )
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
        self.ballots.vote(
            request.path_params["key"], voter, sent.get("answer"), at, self.client(request)
        )
        self.renew()
        return JSONResponse({})

    async def define(self, request: Request) -> Response:
        self.admit(request)
        self.knows(request.headers.get("Authorization", ""))
        sent = await plain_data(request)
        key = request.path_params["key"]
        before = self.ballots.known.get(key)
        self.ballots.define(key, sent.get("asked"), sent.get("measured"))
        if self.ballots.known.get(key) != before:
            self.spread = Spread()
            self.renew()
        return JSONResponse({})

    def knows(self, key: str) -> None:
        """Refused for any key but the teacher's."""
        if not same(
            key.removeprefix("Bearer ").replace("-", "").upper(), self.ballots.about("key")
        ):
            self.ballots.limit("key")
            raise Refused(401, "that isn't the teacher's key, which is in the terminal")

    # --- pages ---
    def now(self) -> dict[str, Any]:
        """What every page is made of."""
        ballots = self.ballots
        key = self.ballots.about("asked")
        return {
            "root": self.root,
            "address": self.address,
            "code": ballots.about("code"),
            "asked": self.shown(),
            "step": STEPS.get(ballots.phase(key)),
            "steps": STEPS,
            "live": self.live(),
            "least": MIN_ANSWERS,
        }

    def step(self) -> str:
        """The question that is asked, and where it is. Differs after a step back, too."""
        ballots = self.ballots
        key = self.ballots.about("asked")
        return f"{self.question()} {ballots.phase(key)} {ballots.about('since')}"

    def question(self) -> str:
        """Differs when a form that was begun no longer counts."""
        ballots = self.ballots
        key = self.ballots.about("asked")
        return (
            f"{ballots.about('code')} {key} {ballots.phase(key) == MEASURED} "
            f"{ballots.about('taken back')}"
        )

    def live(self) -> dict[str, Any]:
        """What the pages show without being made anew, and by name of a page, what it is made
        of.
        """
        ballots = self.ballots
        key = self.ballots.about("asked")
        (answers, again), (offered, waiting) = ballots.counts(key), ballots.offered()
        page = self.step()
        own = ballots.one("select count(own) from questions")
        drawn = self.spread.answers
        clock = ballots.clock()
        measured = ballots.one("select measured from questions where key = ?", key)
        shown = measured if ballots.phase(key) == MEASURED else ""
        return {
            "joined": ballots.joined,
            "answers": answers,
            "again": again,
            "waiting": waiting,
            "turnout": self.turnout(),
            "clock": clock and f", {clock}",
            "question": self.question(),
            "phone": page,
            "spread": f"{page} {drawn}",
            "teacher": (
                f"{page} {offered} {own} {ballots.joined < ballots.seats} {measured is None}"
            ),
            "projector": f"{page} {drawn} {shown}" if ballots.drawn(key) else page,
        }

    def turnout(self) -> str:
        """Who has answered, and who is missing, as numbers."""
        ballots = self.ballots
        key = self.ballots.about("asked")
        step, (answers, again), joined = (
            STEPS.get(ballots.phase(key)),
            ballots.counts(key),
            ballots.joined,
        )
        if not step or not joined:
            return f"{joined} {have(joined)} joined"
        if not step.is_open:
            kept = (
                f", {again} of them again; {answers - again} as before"
                if 0 < again < answers
                else ""
            )
            return f"{answers} of {joined} {have(answers)} answered{kept}"
        missing = ballots.missing(key, step.vote)
        if not missing:
            return f"{joined} of {joined} {have(joined)} answered"
        return f"{missing} of {joined} {have(missing)}n’t answered"

    def renew(self) -> None:
        """Takes the votes of a new step to be drawn, and then MIN_ANSWERS more at a time, so that
        nobody sees a single one come in; but the teacher, who sees them while the class votes, the
        last ones, too.
        """
        ballots = self.ballots
        key = self.ballots.about("asked")
        page, last, (answers, again) = self.step(), self.spread, ballots.counts(key)
        step = STEPS.get(ballots.phase(key))
        count = answers + again
        more = count - last.answers
        complete = more > 0 and step and step.is_open and not ballots.missing(key, step.vote)
        if page != last.step or len(last.pairs) < MIN_ANSWERS or more >= MIN_ANSWERS or complete:
            asked = ballots.known.get(key)  # which may have been asked differently
            pairs = [
                (checked(asked, first), checked(asked, second))
                for first, second in ballots.rounds(key)
            ]
            self.spread = Spread(page, count, pairs, 2 if again else 1)

    async def state(self, request: Request) -> Response:
        self.admit(request)
        voter = cookie(request, self.cookie)
        # so a phone joins as soon as its page asks for this, which no preview of a link does
        if VOTER.fullmatch(voter):
            with contextlib.suppress(Refused, OSError, sqlite3.OperationalError):
                self.ballots.join(voter, self.client(request))
        return JSONResponse(self.live(), headers=HEADERS)

    async def projector(self, request: Request) -> Response:
        self.admit(request)
        now = self.now()
        ballots = self.ballots
        key = self.ballots.about("asked")
        asked = now["asked"]
        drawn = min(ballots.drawn(key), self.spread.votes)
        told = ""
        where = ""
        change = ""
        if drawn > 1 and len(self.spread.pairs) >= MIN_ANSWERS:
            change = (corrected if ballots.phase(key) == MEASURED else changed)(
                asked, self.spread.pairs
            )
        if asked and asked.measured is not None:
            told = in_words(asked, asked.measured)
            where = ballots.measured(key)[1]
        now |= {"drawn": drawn, "measured": told, "where": where, "change": change}
        now["qr"] = segno.make(self.address, error="m").svg_inline(border=2, omitsize=True)
        now["picture"] = await self.picture(asked, drawn) if drawn else ""
        return HTMLResponse(filled("projector.html.j2", **now), headers=HEADERS)

    def shown(self) -> Question | None:
        """The question that is asked, with its measurement if the class sees that."""
        ballots = self.ballots
        key = self.ballots.about("asked")
        if key not in ballots.known:
            return None
        measured = ballots.measured(key)[0] if ballots.phase(key) == MEASURED else None
        return replace(ballots.known[key], measured=measured)

    async def picture(self, asked: Question, votes: int) -> str:
        """Of the first vote or of both, as HTML; "" for too few answers. Drawn in a thread, one at
        a time, and again only when it has changed.
        """
        spread = self.spread
        made_of = spread.step, spread.answers, votes, str(asked)
        async with self.drawing:
            if made_of not in self.drawn:
                self.drawn = dict([*self.drawn.items()][-1:])
                given = [*zip(*spread.pairs, strict=True)][:votes]
                shown = await asyncio.to_thread(chart, asked, *given)
                self.drawn[made_of] = await asyncio.to_thread(on_the_wall, shown) if shown else ""
            return self.drawn[made_of]

    async def phone(self, request: Request) -> Response:
        self.admit(request)
        given = cookie(request, self.cookie)
        error = ""
        form = {}
        voter = given if VOTER.fullmatch(given) else secrets.token_hex(16)
        if request.method == "POST":
            form = parse_qs(await self.form(request), keep_blank_values=True)
        try:
            if request.method == "POST":
                self.votes_by_phone(form, self.voter(voter), self.client(request))
            elif voter == given:
                self.ballots.join(self.voter(voter), self.client(request))
            else:
                self.ballots.has_room()
        except (ValueError, Refused) as why:  # the page is there all the same
            error = f"{why.args[-1][:1].upper()}{why.args[-1][1:]}"
        now = self.now() | {
            "error": error,
            "sizes": SIZES,
            "told": "",
            "counted": False,
            "outcome": "",
        }
        if asked := now["asked"]:
            number, answer = self.ballots.last(asked.key, voter)
            mine = checked(asked, answer)  # it may have been asked differently
            typed = fields(asked, mine)
            if (
                error
                and form.get("key") == [asked.key]
                and len(form.get("answer", [])) == len(typed)
            ):
                typed = form["answer"]
            now["typed"] = [(text, is_wrong(asked, text)) for text in typed]
            if mine is not None:
                now |= {"told": in_words(asked, mine), "outcome": outcome(asked, mine)}
                now["counted"] = number == now["step"].vote
        page = HTMLResponse(filled("phone.html.j2", **now), headers=HEADERS)
        # comes with links, too
        page.set_cookie(self.cookie, voter, httponly=True, secure=self.tls, samesite="lax")
        return page

    def votes_by_phone(self, form: dict[str, list[str]], voter: str, address: str) -> None:
        """Keeps what a form says. ValueError or Refused if it's no answer."""
        asked = self.shown()
        if not asked or form.get("key") != [asked.key]:
            raise ValueError("The class is at another question now.")
        typed = form.get("answer", [])
        answer = None
        if typed:
            answer = typed[0] if asked.kind == "quiz" else asked.prediction.read(typed)
        if answer is None:
            raise ValueError("Give an answer first.")
        self.ballots.vote(asked.key, voter, answer, 0, address)  # they come in their order
        self.renew()

    async def teacher(self, request: Request) -> Response:
        key = cookie(request, "teacher")
        if request.method == "POST":
            form = dict(parse_qsl(await self.form(request)))
            key = form.get("key", key).strip()
        try:
            self.knows(key)
        except Refused as why:
            error = why.args[1] if request.method == "POST" else ""
            page = filled("key.html.j2", root=self.root, error=error)
            return HTMLResponse(page, 401 if error else 200, headers=HEADERS)
        if request.method == "POST":
            # else the page was of something else, or its answer came late
            if form.get("of") == self.step():
                self.act(form.get("do", ""), form)
            done = RedirectResponse(f"{self.root}/teacher", 303)
            done.set_cookie(
                "teacher", key, httponly=True, samesite="strict", path=f"{self.root}/teacher"
            )
            return done
        page = await self.for_the_teacher()
        return HTMLResponse(filled("teacher.html.j2", **page), headers=HEADERS)

    async def for_the_teacher(self) -> dict[str, Any]:
        """What every page is made of, and what the teacher sees alone."""
        now = self.now()
        ballots = self.ballots
        ours = self.ballots.of_lessons
        known = ballots.known
        asked = now["asked"]
        key = ballots.about("asked")
        lessons = {
            n: list(of)
            for n, of in groupby(known.values(), lambda one: one.key[:2] * (one.key in ours))
        }
        now |= {
            "lessons": lessons,
            "next": dict(pairwise(known)).get(key, ""),
            "seats": ballots.seats,
            "offered": known.get(ballots.offered()[0]),
            "walked": len(ballots.path(key)),
            "lately": self.lately,
            "done": ballots.all("select key from questions where phase is not null"),
            "advice": advice().get(key, ""),
            "worth": set(advice()),
        }
        if not asked:
            return now
        answers = replace(asked, measured=ballots.measured(key)[0])
        now |= {"measurable": answers.measured is not None, "told": self.told(answers)}
        return now | {"picture": await self.picture(asked, self.spread.votes)}

    def told(self, asked: Question) -> str:
        """How many are right, and what to do or who has changed."""
        spread = self.spread
        text = share(asked, *[*zip(*spread.pairs, strict=True)][: spread.votes])
        if text and spread.votes == 2:
            text += f" {corrected(asked, spread.pairs)}"
        elif text and AGAIN in STEPS[self.ballots.phase(asked.key)].then:
            text += f" {rule(asked, [first for first, _ in spread.pairs])}"
        return text

    def act(self, what: str, form: dict[str, str]) -> None:
        """A button of the teacher's page. Refused for a step that doesn't follow."""
        match what:
            case "ask":
                self.lately = ""
                self.ballots.ask(form.get("question", ""))
            case "back":
                self.ballots.back()
            case "countdown" if MINUTES.fullmatch(minutes := form.get("minutes", "")):
                self.ballots.countdown(float(minutes))
            case "take back":
                self.ballots.take_back()
            case "door" if (more := form.get("more", "")).isdecimal():
                self.ballots.note("seats", str(self.ballots.joined + int(more)))
            case "end" if form.get("keep") in ("yes", "no"):
                path = self.ballots.end(form["keep"] == "yes")
                none = (
                    "deleted"
                    if form["keep"] == "no"
                    else f"deleted: no question had {MIN_ANSWERS} answers"
                )
                self.lately = (
                    f"The lesson has ended. Its votes are {f'kept in {path}' if path else none}."
                )
            case step if step in STEPS:
                self.ballots.move(step)
        self.renew()


async def plain_data(request: Request) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(sent := json.loads(await body_of(request, LARGEST, Refused)), dict):
            return sent
    raise Refused(400, "that isn't an object in JSON")


def cookie(request: Request, name: str) -> str:
    """The cookie of this name, "" for none. Python before 3.12.6 takes a minute to read one that is
    long and quoted.
    """
    found = re.search(f"(?:^|; ?){name}=([^;]*)", request.headers.get("Cookie", ""))
    return found[1] if found else ""


def same(given: str, right: str) -> bool:
    """Compares in constant time: how long it takes doesn't tell how much of it is right."""
    return secrets.compare_digest(given.encode(errors="replace"), right.encode())


def have(count: int) -> str:
    return "has" if count == 1 else "have"


def in_words(asked: Question, answer: Any) -> str:
    if asked.kind == "quiz":
        return next((name for name in asked.names if name[1] == answer), str(answer))
    return asked.prediction.told(answer)


def outcome(asked: Question, answer: Any) -> str:
    """The answer beside what was measured; "" for no measurement."""
    measured = asked.measured
    if measured is None:
        return ""
    if asked.kind == "quiz":
        return f"Right: {in_words(asked, measured)}"
    if asked.unit in SIZES:
        size = SIZES[asked.unit]
        measured = (
            {name: n * size for name, n in measured.items()}
            if isinstance(measured, dict)
            else measured * size
        )
    return asked.prediction.compared(answer, measured)


def fields(asked: Question, answer: Any) -> list[str]:
    """What a form's fields hold for an answer, or for None."""
    if asked.kind in NUMBERS:
        numbers = answer if isinstance(answer, dict) else {"": answer}
        return [
            "" if numbers.get(name) is None else f"{numbers[name]:.12g}"
            for name in asked.prediction.names
        ]
    if asked.kind == "order":
        return answer or [""] * len(asked.names)
    return [answer or ""]


def is_wrong(asked: Question, text: str) -> bool:
    """Is this what a number's field mustn't hold?"""
    try:
        return asked.kind in NUMBERS and (amount(text, asked.unit) or 0) > (asked.most or math.inf)
    except ValueError:
        return True


def on_the_wall(shown: Picture) -> str:
    """As HTML: in the form of the room that a projector has for it, with larger letters than on
    paper.
    """
    wide, tall = shown.figure.get_size_inches()
    wide = max(0.8 * wide, FORM * tall)
    shown.figure.set_size_inches(wide, wide / FORM)
    return shown._repr_html_()


@cache
def advice() -> dict[str, str]:
    """What teacher/votes.md says, by the key of a question."""
    parts = re.split(
        r"^### (\S+)\n", (TEACHER / "votes.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    texts = (
        re.split("^## |^Measure ", text, flags=re.MULTILINE)[0].strip() for text in parts[2::2]
    )
    return dict(zip(parts[1::2], texts, strict=True))


def own_addresses() -> list[str]:
    """Of this machine, for others in its networks: the one that leads farthest is first. Nothing is
    sent.
    """
    every = [
        one.address
        for of in psutil.net_if_addrs().values()
        for one in of
        if one.family == socket.AF_INET
    ]
    found = [address for address in every if not address.startswith("127.")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line, contextlib.suppress(OSError):
        line.connect(("192.0.2.1", 9))
        found.insert(0, line.getsockname()[0])
    return [*dict.fromkeys(found)]


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
    parser = argparse.ArgumentParser(
        prog="make wall", description="A class's predictions, on one page."
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=GRADES,
        help="the folder of `make grade`; votes go into its wall/",
    )
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument(
        "--address",
        default="",
        help="of this machine, for the class: its name or number, if not the first",
    )
    parser.add_argument(
        "--behind",
        default="",
        help="a proxy's address for it: https://hub.example.org/services/wall",
    )
    parser.add_argument(
        "--proxies", type=int, default=1, help="how many are before it, with --behind"
    )
    parser.add_argument(
        "--socket",
        help="a path instead of the port, in a folder that only you and the proxy can open",
    )
    parser.add_argument(
        "--code", default="", help="the class's code, if not a new one: 4 to 16 letters and digits"
    )
    parser.add_argument(
        "--size", type=int, default=0, help="how many can join: phones and notebooks of the class"
    )
    options = parser.parse_args()
    found = own_addresses()
    host = options.address or next(iter(found), "127.0.0.1")
    public = options.behind.rstrip("/") or f"http://{host}:{options.port}"
    if not ADDRESS.fullmatch(f"{public}/{options.code or 'KQ4T'}"):
        parser.error(
            f"{public}/{options.code} isn't the address of a class: see --address, --behind and "
            "--code in --help"
        )
    if not 0 < options.port < 2**16:
        parser.error(f"--port is from 1 to 65535, not {options.port}")
    if options.size < 0:
        parser.error(f"--size is how many can join, not {options.size}")
    try:
        line = listener(options.socket or ("127.0.0.1" if options.behind else "", options.port))
        ballots = Ballots(options.out / FOLDER, options.code.upper(), options.size)
    except OSError as error:
        another = (
            f'port {options.port}: {error.strerror}; `make wall WALLARGS="--port 9000"` takes'
            " another"
        )
        why = f"{options.socket}: {error.strerror}" if options.socket else another
        sys.exit(str(error) if isinstance(error, BlockingIOError) else why)
    logging.basicConfig(handlers=[Terminal()])
    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MOST_FILES), hard))
        CrowdedProtocol.most = min(hard, MOST_FILES) // 4  # the others are on their way in or out
    wall = Wall(ballots, public, options.proxies if options.behind else 0)
    key = "-".join(re.findall("....", ballots.about("key")))
    others = [] if options.behind else [address for address in found if address != host]
    own = public if options.socket else f"http://127.0.0.1:{options.port}{wall.root}"
    print(
        text(
            "wall.txt.j2", wall=wall, own=own, key=key, others=others, alone="127.0.0.1" in public
        ),
        flush=True,
    )
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(ballots.connection):
        Server(limited(wall.app, 2, CrowdedProtocol, backlog=BACKLOG, log_config=None)).run(
            sockets=[line]
        )


if __name__ == "__main__":
    main()
