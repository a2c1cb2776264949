"""`workers`: several processes that use the same data at once, and what each of them and all together cost.

The kernel of a notebook is never forked: either every worker is a fresh interpreter, or one is made for the purpose,
makes the data, and is forked. child.py is what runs there.
"""

import operator
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

from ..units import MiB
from . import maps
from .process import START_LIMIT, Process, carried, named, show, way_back
from .recording import ending
from .run import How
from .sharing import COLUMNS, Shares, Sharing, sharing

LARGEST_VALUE = 1 * MiB


class _Member(Process):
    """A worker, or the parent of forks."""

    def __init__(self, name: str, how: How):
        super().__init__(name, LARGEST_VALUE)
        self.stop = how.stop

    def connect(self, at_end: ExitStack, started: ExitStack) -> tuple[int, int]:
        """For one that will be forked: pipes, and the two descriptors that are its own, ours until it is `started`."""
        its_inbox, ours = os.pipe()
        started.callback(os.close, its_inbox)
        inbox = at_end.enter_context(os.fdopen(ours, "wb"))
        outbox, its_outbox = way_back(at_end, started)
        self.talk(inbox, outbox)
        at_end.callback(self.hang_up)
        return its_inbox, its_outbox

    def read(self) -> Shares | None:
        """None if it has ended."""
        try:
            return sharing({self.name: self.mail.pid}).rows[0]
        except OSError:
            return None


def workers(
    use: Callable,
    *args: Any,
    count: int = 4,
    make: Callable | None = None,
    timeout: float = 60,
    modules: Sequence[str] = (),
) -> Sharing:
    """`count` processes call `use` at once and keep what it returns; a row each of what that took, in bytes.

    Without `make`, each is a fresh interpreter that calls `use(*args)`, a row "worker 1", "worker 2", … each. A figure
    is growth: read when all have returned, less what was read when all were ready.

    With `make`, one fresh interpreter calls `data = make(*args)` and is forked `count` times; each fork calls
    `use(data)`. No garbage is collected in between; afterwards it is as ever in Python, by itself now and then. The
    rows are "parent" and the workers, and their figures add up: all that the family has in the end, less what the
    parent had before `make`. Of that, a fork shares the anonymous pages, which is taken into account so: `pss`: those
    pages count in equal parts for each of the family; `rss`, `anonymous`: in full for each; `uss`, `private_dirty`:
    for none, because after a fork a process has a page to itself only when it has written to it, or when the others
    no longer have it; a worker's `private_dirty` is what it has written.

    A row's `value` is what was returned, as plain data; None also for anything else and for more than 1 MiB. `ended` is
    "returned", "raised …", a signal's name, "exited 3" or "timed out" (`timeout` in seconds, for `make` and for `use`
    each). One that timed out has the figures of that moment, one that died has none. If `make` fails, there is only the
    row "parent". Functions travel as in `measure`, after the same `modules` and with the same TypeError. What the
    workers have started ends with them. Where memory of other processes cannot be read: nothing is run, and the result
    says why.
    """
    return at_work(use, args, count, How(timeout=timeout, modules=modules), make)


def at_work(use: Callable, args: tuple, count: int, how: How, make: Callable | None = None) -> Sharing:
    """`workers`, for the rest of the house."""
    for function, what in ((use, "use"), (make or use, "make")):
        if not callable(function):
            raise TypeError(f"workers takes functions and their arguments; {what} is {function!r}; leave out its ()")
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"count is a number of processes, not {count!r}") from None
    if count < 1:
        raise ValueError(f"workers needs a worker, not count={count!r}")
    if why := maps.why_not():
        return Sharing((), "growth", why)
    with tempfile.TemporaryFile() as printed, ExitStack() as at_end:
        at_end.callback(show, printed)
        team = [_Member(f"worker {i + 1}", how) for i in range(count)]
        if make is None:
            rows = _fresh(use, args, team, how, printed, at_end)
        else:
            rows = _forked(use, make, args, team, how, printed, at_end)
        return Sharing(tuple(rows), "growth")


def _fresh(
    use: Callable, args: tuple, team: list[_Member], how: How, printed: BinaryIO, at_end: ExitStack
) -> list[Shares]:
    name = named(use)
    payload = carried(use, args, name)
    for one in team:
        one.start(printed, at_end, how.command)
    for one in team:
        one.send(payload, modules=tuple(how.modules))
    for one in team:
        one.greet(name)
    before = {one: one.read() for one in team}  # when all are there: they share the pages of the interpreter's file
    _let_all(team, how.timeout)
    after = {one: one.read() for one in team}
    end = time.monotonic() + how.timeout
    for one in team:
        one.report(end)
    for one in team:
        one.leave()
    return [_row(one, after[one], before[one]) for one in team]


def _forked(
    use: Callable,
    make: Callable,
    args: tuple,
    team: list[_Member],
    how: How,
    printed: BinaryIO,
    at_end: ExitStack,
) -> list[Shares]:
    try:
        payload = carried(make, args, named(make), use)
    except TypeError:
        carried(use, (), named(use))  # if it is this one, the error has its name
        raise
    parent = _Member("parent", how)
    for one in team:
        one.printed = printed
    with ExitStack() as started:  # whatever happens, nothing waits for the forks' ends of the pipes after this
        theirs = [one.connect(at_end, started) for one in team]
        parent.start(printed, at_end, how.command, descriptors=[fd for two in theirs for fd in two])
    parent.send(payload, forks=theirs, modules=tuple(how.modules))
    parent.greet(f"{named(make)} or {named(use)}")
    before = parent.read()
    _let_all([parent], how.timeout)
    end = time.monotonic() + (START_LIMIT if not parent.stopped and parent.alive() else 0)
    team = [one for one in team if one.mail.greeting.wait(max(0, end - time.monotonic())) and one.mail.pid is not None]
    _let_all(team, how.timeout)
    after = {one: one.read() for one in (parent, *team)}
    end = time.monotonic() + how.timeout
    for one in team:
        one.report(end)
        one.allow(b"end")
    parent.report(time.monotonic() + START_LIMIT)  # knows how they ended, when all have
    for one, code in zip(team, parent.message.get("codes", ()), strict=False):
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


def _row(one: _Member, after: Shares | None, base: Shares) -> Shares:
    grown = {c: None if after is None else getattr(after, c) - getattr(base, c) for c in COLUMNS}
    ended = ending(one.ended, one.error)
    return Shares(one.name, one.mail.pid, **grown, value=one.value[0], ended=ended)


def _let_all(team: Sequence[_Member], timeout: float) -> None:
    """All go at once, and are waited for; who is not back in time is stopped."""
    for one in team:
        one.allow(b"call")
    end = time.monotonic() + timeout
    for one in team:
        if not one.wait(one.mail.done, end) and one.alive():
            one.stopped = one.stopped or "timed out"
