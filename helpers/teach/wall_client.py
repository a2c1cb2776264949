"""The class's wall (classroom/README.md): what `predict` keeps goes there too, under a random
number instead of a name. No cell waits longer than WAIT_S for it, whatever it answers.
"""

import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import quote, urlsplit

from . import state
from .words import Said, paragraphs

CLASS = "ZERO_COPY_CLASS"  # on a hub, the class that everybody has joined
# "voter": [address, number], and "since": when it joined, so that a restarted kernel goes on as the
# same
FILE = "wall"
SITTING_S = 4 * 3600  # how long after joining it does
WAIT_S, TIMEOUT_S = 0.3, 5.0  # for a cell, and for a thread in the background
PAUSES_S = (1, 2, 5, *[10] * 360)  # between tries, for an hour
ADDRESS = re.compile(r"https?://[^][/@?#\s]+(/[\w.~-]+)*/[A-Za-z0-9]{4,16}")
LATER = "not on the wall yet: it's sent as soon as the wall answers"
SAID = {
    200: "on the wall, without your name",
    404: "not on the wall: that class has ended, or the wall doesn't have this question",
    409: "not on the wall: its measurement is shown there already",
    412: "not on the wall: it has a later answer of yours. Is this machine's clock right?",
}
# 429: too many at once, 503: closed, 507: a full disk
NOT_NOW = "it takes nothing now ({}); ask your teacher"


@dataclass(frozen=True)
class Wall:
    address: str  # "http://192.0.2.7:8765/KQ4T"
    voter: str
    key: str = ""  # the teacher's
    typed: bool = (
        True  # or does it come from the environment? Then there may be none, and nobody is told
    )


_joined: Wall | None = None
_last = 0  # the time of the last answer
# by the key of a question: what the wall said to the last vote, None for nothing
_status: dict[str, int | None] = {}
_renew: dict[str, Callable[[], None]] = {}  # by the key of a question
_newest: dict[str, object] = {}  # by path: what is being sent; anything older isn't tried again


def join(address: str = "", key: str = "") -> Said:
    """Joins a class: `join("http://192.0.2.7:8765/KQ4T")`, as the projector shows it. What you
    predict from now on is on its wall, without your name. `join()` leaves it. With the teacher's
    `key`, what this notebook measures is there for the teacher to show, and nothing is a vote.
    Raises ValueError for what is no address, class or key.
    """
    global _joined
    text = "You have left the class. Predictions stay in your own folder."
    if _current() is None:
        text = "You are in no class. Predictions stay in your own folder."
    _joined = None
    _ = _status.clear()
    os.environ.pop(CLASS, None)
    state.keep(FILE, "since", None)
    if address:
        wall = _wall(address, key)
        status = _put(wall, f"voters/{wall.voter}", {})
        if status == 404:
            raise ValueError(f"there is no class {wall.address}; look at the projector again")
        if status == 401:
            raise ValueError("that isn't the key of this wall; look at its terminal again")
        if _is_final(status) and status != 200:
            raise ValueError(
                f"{wall.address} answered, but not as a wall ({status}); look at the projector "
                "again"
            )
        if not key:
            state.keep(FILE, "since", time.time())
        _joined, text = wall, "Joined. What you predict is on the wall, too, without your name."
        if status is None:
            text = (
                "The wall doesn't answer. If this is its address, what you predict is sent as soon "
                "as it does."
            )
        elif status != 200:
            text = (
                f"The wall answered, but {NOT_NOW.format(status)}. What you predict is sent as "
                "soon as it can be."
            )
        elif key:
            text = (
                "Joined as the teacher: what this notebook measures is on your page, to be shown."
            )
    return Said(text, paragraphs(text))


def vote(question: str, answer: Any) -> None:
    """Sends an answer; None takes it back. Waits WAIT_S at most, and then goes on trying in the
    background.
    """
    global _last
    if (wall := _current()) and not wall.key:
        path = f"votes/{wall.voter}/{quote(question, safe='')}"
        # of two, the later one counts, also when the clock was set back
        _last = max(time.time_ns(), _last + 1)
        _put(wall, path, {"answer": answer, "at": _last}, question)


def said(question: str) -> str:
    """What came of the last vote, in words; "" if there was none."""
    status = _status.get(question)
    if _is_final(status):
        return SAID.get(status, f"not on the wall, which said {status}")
    if question in _status and _joined and _joined.typed:
        return LATER if status is None else f"not on the wall yet: {NOT_NOW.format(status)}"
    return ""


def shown(question: str, asked: dict[str, Any], answer: Any, renew: Callable[[], None]) -> None:
    """A question is shown, with the answer that is kept for it: a student's is a vote. `renew`
    shows what is `said` of a later try.
    """
    _renew[question] = renew
    tell(question, asked)
    if answer is not None:
        vote(question, answer)


def tell(question: str, asked: dict[str, Any], **measured: Any) -> None:
    """From a teacher's notebook: what it asks, and what it has measured, with sizes in bytes."""
    if (wall := _current()) and wall.key:
        _put(wall, f"questions/{quote(question, safe='')}", {"asked": asked, **measured})


def _current() -> Wall | None:
    """The wall that was joined, here, by the environment, or before the kernel was restarted."""
    global _joined
    if (
        _joined is None
        and (address := os.environ.get(CLASS) or _before())
        and ADDRESS.fullmatch(address)
    ):
        _joined = replace(_wall(address, ""), typed=False)
    return _joined


def _before() -> str:
    """The address that another kernel of this student has joined in this sitting, and not left;
    else "".
    """
    match state.read(FILE):
        case {"voter": [str(address), str()], "since": float(since)} if (
            0 <= time.time() - since < SITTING_S
        ):
            return address
    return ""


def _wall(given: str, key: str) -> Wall:
    """Also for the address of the projector's page, or one without http://, as in the bar of a
    browser.
    """
    address = given.strip().rstrip("/").removesuffix("/projector").removesuffix("/state")
    if "://" not in address:
        address = f"http://{address}"
    if not ADDRESS.fullmatch(address):
        raise ValueError(
            f"{given!r} isn't the address of a class; one looks like http://192.0.2.7:8765/KQ4T"
        )
    folder, _, code = address.rpartition("/")
    address = f"{folder}/{code.upper()}"
    match state.read(FILE).get("voter"):
        case [last, str(voter)] if last == address:
            return Wall(address, voter, key)
    voter = secrets.token_hex(16)
    state.keep(FILE, "voter", [address, voter])
    return Wall(address, voter, key)


def _put(wall: Wall, path: str, content: dict[str, Any], question: str = "") -> int | None:
    """The status of the wall's answer; None if there is none within WAIT_S, or the wall is in
    trouble.
    """
    _newest[path], answered = content, SimpleQueue()
    if question:
        _status[question] = None
    threading.Thread(
        target=_send, args=(wall, path, content, question, answered.put), daemon=True
    ).start()
    try:
        return answered.get(timeout=WAIT_S)
    except Empty:
        return None


def _send(wall: Wall, path: str, content: dict[str, Any], question: str, answered: Any) -> None:
    for pause in PAUSES_S:
        status = _ask(wall, path, json.dumps(content, default=float))
        if question and _newest[path] is content:
            _status[question] = status
        answered(status)
        if _is_final(status):
            return _renew[question]() if question in _renew else None
        time.sleep(pause)
        if _newest[path] is not content or _joined not in (None, wall):
            return


def _is_final(status: int | None) -> bool:
    return status is not None and status < 500 and status != 429


def _ask(wall: Wall, path: str, content: str) -> int | None:
    """The status; nothing else of the answer is read, which may have no end."""
    where = urlsplit(wall.address)
    connect = HTTPSConnection if where.scheme == "https" else HTTPConnection
    try:
        with closing(connect(where.netloc, timeout=TIMEOUT_S)) as line:
            who = {"Authorization": f"Bearer {wall.key}"} if wall.key else {}
            line.request("PUT", f"{where.path}/{path}", content, who)
            return int(
                re.match(rb"HTTP/1\.[01] (\d{3})\b", line.sock.makefile("rb").readline(99))[1]
            )
    except (OSError, HTTPException, ValueError, TypeError):
        return None
