"""`workers`: several processes that use the same data at once, and what each of them and all together cost.

The kernel of a notebook is never forked: either every worker is a fresh interpreter, or one is made for the purpose,
makes the data, and is forked. child.py is what runs there.
"""

import operator
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, BinaryIO

import psutil

from ..units import MiB
from . import maps
from .recording import ending
from .run import (
    CHILD,
    START_LIMIT,
    _carried,
    _descendants,
    _kill,
    _Mail,
    _runs,
    _show,
    _unpacked,
    ended_by,
    not_loaded,
)
from .sharing import COLUMNS, Shares, Sharing, sharing

LARGEST_VALUE = 1 * MiB


def workers(use: Callable, *args: Any, count: int = 4, make: Callable | None = None, timeout: float = 60) -> Sharing:
    """`count` processes call `use` at once and keep what it returns; a row each of what that took, in bytes.

    Without `make`, each is a fresh interpreter that calls `use(*args)`, a row "worker 1", "worker 2", … each. A figure
    is growth: read when all have returned, less what was read when all were ready.

    With `make`, one fresh interpreter calls `data = make(*args)` and is forked `count` times; each fork calls
    `use(data)`. No garbage is collected in between; afterwards it is as ever in Python, by itself now and then. The
    rows are "parent" and the workers, and their figures add up: all that the family has in the end, less what the
    parent had before `make`. Of that, a fork shares the anonymous pages, which is taken into account so: `pss`: those
    pages count in equal parts for each of the family; `rss`, `anonymous`: in full for each; `uss`, `private_dirty`:
    for none, because after a fork nobody has a page for himself until he writes into it, or is the last who has it;
    a worker's `private_dirty` is what it has written.

    A row's `value` is what was returned; None also for what cannot travel or takes more than 1 MiB. `ended` is
    "returned", "raised …", a signal's name, "exited 3" or "timed out" (`timeout` in seconds, for `make` and for `use`
    each). One that timed out has the figures of that moment, one that died has none. If `make` fails, there is only
    the row "parent". Functions travel as in `measure`, with the same TypeError. What the workers have started ends
    with them. Where memory of other processes cannot be read: nothing is run, and the result says why.
    """
    for function, what in ((use, "use"), (make or use, "make")):
        if not callable(function):
            raise TypeError(f"workers takes functions and their arguments; {what} is {function!r}; leave out its ()")
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"count is a number of processes, not {count!r}") from None
    if count < 1 or not timeout > 0:
        raise ValueError(f"workers needs a worker and more than 0 seconds, not count={count!r}, timeout={timeout!r}")
    if why := maps.why_not():
        return Sharing((), "growth", why)
    with tempfile.TemporaryFile() as printed, ExitStack() as at_end:
        at_end.callback(_show, printed)
        team = [_Member(f"worker {i + 1}") for i in range(count)]
        if make is None:
            rows = _fresh(use, args, team, timeout, printed, at_end)
        else:
            rows = _forked(use, make, args, team, timeout, printed, at_end)
        return Sharing(tuple(rows), "growth")


def _fresh(
    use: Callable, args: tuple, team: list["_Member"], timeout: float, printed: BinaryIO, at_end: ExitStack
) -> list[Shares]:
    label = _label(use)
    payload = _carried(use, args, label)
    for one in team:
        one.start(printed, at_end)
    for one in team:
        one.send(payload, {})
    for one in team:
        one.greet(label)
    before = {one: one.read() for one in team}  # when all are there: they share the pages of the interpreter's file
    _let_all(team, timeout)
    after = {one: one.read() for one in team}
    for one in team:
        one.report()
    for one in team:
        one.leave()
    return [_row(one, after[one], before[one]) for one in team]


def _forked(
    use: Callable,
    make: Callable,
    args: tuple,
    team: list["_Member"],
    timeout: float,
    printed: BinaryIO,
    at_end: ExitStack,
) -> list[Shares]:
    try:
        payload = _carried(make, args, _label(make), use)
    except TypeError:
        _carried(use, (), _label(use))  # if it is this one, the error has its name
        raise
    parent = _Member("parent")
    with ExitStack() as started:  # whatever happens, nothing waits for the forks' ends of the pipes after this
        theirs = [one.connect(at_end, started) for one in team]
        parent.start(printed, at_end, [fd for two in theirs for fd in two])
    parent.send(payload, {"forks": theirs})
    parent.greet(f"{_label(make)} or {_label(use)}")
    before = parent.read()
    _let_all([parent], timeout)
    end = time.monotonic() + (START_LIMIT if not parent.late and parent.runs() else 0)
    team = [one for one in team if one.mail.greeting.wait(max(0, end - time.monotonic())) and one.mail.pid is not None]
    _let_all(team, timeout)
    after = {one: one.read() for one in (parent, *team)}
    for one in team:
        one.report()
        one.allow(b"end")
        parent.started += one.started
    parent.report()  # knows how they ended, when all have
    for one, code in zip(team, (parent.mail.message or {}).get("codes", ()), strict=False):
        one.code = code
    parent.leave()
    alive = sum(shares is not None for shares in after.values())
    return [_row(one, shares, _base(before, one is parent, alive)) for one, shares in after.items()]


def _base(before: Shares, parent: bool, family: int) -> Shares:
    """What of the parent's memory before `make` does not count in a row: see `workers`.

    A fork copies the page table of anonymous memory only; pages of files it maps anew when it touches them.
    """
    if family <= 1:
        return before
    own = before.anonymous
    forked = Shares("", 0, rss=own, pss=own // family, uss=0, anonymous=own, file=0, private_dirty=0)
    if not parent:
        return forked
    return replace(
        before,
        pss=before.pss - own + own // family,
        uss=max(0, before.uss - own),
        private_dirty=max(0, before.private_dirty - own),
    )


def _row(one: "_Member", after: Shares | None, base: Shares) -> Shares:
    grown = {c: None if after is None else getattr(after, c) - getattr(base, c) for c in COLUMNS}
    return Shares(one.name, one.mail.pid, **grown, value=one.value, ended=one.ended)


def _let_all(team: Sequence["_Member"], timeout: float) -> None:
    """All go at once, and are waited for; who is not back in time is late."""
    for one in team:
        one.allow(b"call")
    end = time.monotonic() + timeout
    for one in team:
        one.late = not one.wait(one.mail.done, end) and one.runs()


class _Member:
    """One process: the caller's end of child.py's protocol."""

    def __init__(self, name: str):
        self.name, self.late, self.process, self.code = name, False, None, None
        self.started: list[psutil.Process] = []

    def start(self, printed: BinaryIO, at_end: ExitStack, descriptors: Sequence[int] = ()) -> None:
        """A fresh interpreter, to be ended with all that it started, whatever happens."""
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            start_new_session=True,
            pass_fds=descriptors,
        )
        at_end.callback(self._end)
        self._talk(self.process.stdin, self.process.stdout)

    def connect(self, at_end: ExitStack, started: ExitStack) -> tuple[int, int]:
        """For one that will be forked: pipes, and the two descriptors that are its own, ours until it is `started`."""
        its_inbox, ours = os.pipe()
        started.callback(os.close, its_inbox)
        try:
            from_it, its_outbox = os.pipe()
        except OSError:
            os.close(ours)
            raise
        started.callback(os.close, its_outbox)
        self._talk(os.fdopen(ours, "wb"), os.fdopen(from_it, "rb"))
        at_end.callback(self._hang_up)
        return its_inbox, its_outbox

    def _talk(self, inbox: BinaryIO, outbox: BinaryIO) -> None:
        self.inbox, self.outbox, self.mail = inbox, outbox, _Mail(outbox)

    def send(self, payload: bytes, options: dict) -> None:
        options = {"path": sys.path, "heap": False, "largest_result": LARGEST_VALUE} | options
        with suppress(OSError):
            pickle.dump((payload, options), self.inbox)
            self.inbox.flush()

    def greet(self, label: str) -> None:
        if not self.mail.greeting.wait(START_LIMIT):
            raise TimeoutError(f"{label}: a fresh interpreter did not start within {START_LIMIT:.0f} s")
        if self.mail.pid is None:
            self.mail.report.wait(START_LIMIT)
            raise not_loaded(label, self.mail)

    def allow(self, step: bytes) -> None:
        with suppress(OSError):  # it may have ended: that shows elsewhere
            self.inbox.write(step + b"\n")
            self.inbox.flush()

    def read(self) -> Shares | None:
        """None if it has ended."""
        try:
            return sharing({self.name: self.mail.pid}).rows[0]
        except OSError:
            return None

    def runs(self) -> bool:
        if self.process:
            return self.process.poll() is None
        with suppress(psutil.NoSuchProcess):
            return _runs(psutil.Process(self.mail.pid))
        return False

    def wait(self, event: threading.Event, end: float) -> bool:
        """Until it has happened, but not one long wait: what a dead process has started may hold its pipe open."""
        while not event.wait(max(0, min(0.02, end - time.monotonic()))) and time.monotonic() < end and self.runs():
            pass
        return event.is_set()

    def report(self) -> None:
        """Asks for it; or ends the process, if it is late. From then on it may end, so who belongs to it is noted."""
        self._note()
        if self.late:
            with suppress(ProcessLookupError):
                os.kill(self.mail.pid, signal.SIGKILL)
        else:
            self.allow(b"report")
            self.wait(self.mail.report, time.monotonic() + START_LIMIT)

    def leave(self) -> None:
        """Lets it end by itself, if it is able to: it may have to clean up."""
        self.allow(b"end")
        with suppress(subprocess.TimeoutExpired):
            self.code = self.process.wait(5)

    @property
    def value(self) -> Any:
        return _unpacked((self.mail.message or {}).get("value"))[0]

    @property
    def ended(self) -> str:
        if self.late:
            return "timed out"
        if self.mail.message is None:
            return "lost contact" if self.code is None else ended_by(self.code)
        return ending(self.mail.message["ended"], self.mail.message["error"])

    def _note(self) -> None:
        if self.runs():  # else its number may be somebody else's by now
            self.started += _descendants((self.process or self.mail).pid)

    def _end(self) -> None:
        try:
            self._note()
            _kill(self.process, self.started)
        finally:
            self._hang_up()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.inbox.close()
        self.mail.join(2)
        if not self.mail.is_alive():  # else somebody out of reach still holds the other end
            self.outbox.close()


def _label(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)
