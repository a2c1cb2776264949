"""`workers`: several processes use the same data at once: what each of them costs, and all of them together.

A notebook's kernel is never forked. Either every worker is a fresh interpreter, or a fresh interpreter makes the data
and is then forked. child.py is what runs there.
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
        """Makes the pipes to a fork. Returns its two descriptors, which are ours until `started` closes them here."""
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
    """`count` processes call `use` at once and keep what it returns; a row for each says what that took, in bytes.

    Without `make`, each worker is a fresh interpreter that calls `use(*args)`; the rows are "worker 1", "worker 2", ….
    A figure is growth: the reading when all have returned, less the reading when all were ready.

    With `make`, one fresh interpreter calls `data = make(*args)` and is forked `count` times; each fork calls
    `use(data)`. No garbage is collected between `make` and `use`; after that, Python collects now and then, as usual.
    The rows are "parent" and the workers. Their figures add up to everything the family has in the end, less what the
    parent had before `make`. Its anonymous pages from before `make` are shared with the forks, so every row subtracts
    them: `pss` in equal parts, `rss` and `anonymous` in full, `uss` and `private_dirty` not at all, because after a
    fork, a process has a page to itself only once it has written to it, or once the others no longer have it. A
    worker's `private_dirty` is what it has written.

    A row's `value` is what `use` returned, as plain data; None for anything else and for more than 1 MiB. `ended` is
    "returned", "raised …", a signal's name, "exited 3" or "timed out" (`timeout` is in seconds, for `make` and for
    `use` each). A worker that timed out has the figures of that moment, a worker that died has none. If `make` fails,
    "parent" is the only row. Functions travel as in `measure`, with the same `modules` and the same TypeError. What
    the workers started ends with them. Where the memory of other processes can't be read, nothing runs and the result
    says why.
    """
    return at_work(use, args, count, How(timeout=timeout, modules=modules), make)


def at_work(use: Callable, args: tuple, count: int, how: How, make: Callable | None = None) -> Sharing:
    """`workers`, for the rest of the house."""
    for function, what in ((use, "use"), (make or use, "make")):
        if not callable(function):
            raise TypeError(f"workers takes a function and its arguments; {what} is {function!r}; leave out its ()")
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"count is a number of processes, not {count!r}") from None
    if count < 1:
        raise ValueError(f"workers needs at least 1 worker, not count={count!r}")
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
    for member in team:
        member.start(printed, at_end, how.command)
    for member in team:
        member.send(payload, modules=tuple(how.modules))
    for member in team:
        member.greet(name)
    before = {member: member.read() for member in team}  # only when all are there: they share the interpreter's file
    _let_all(team, how.timeout)
    after = {member: member.read() for member in team}
    end = time.monotonic() + how.timeout
    for member in team:
        member.report(end)
    for member in team:
        member.leave()
    return [_row(member, after[member], before[member]) for member in team]


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
        carried(use, (), named(use))  # if `use` can't travel, the error names it
        raise
    parent = _Member("parent", how)
    for member in team:
        member.printed = printed
    with ExitStack() as started:  # whatever happens, nothing waits for the forks' ends of the pipes after this
        theirs = [member.connect(at_end, started) for member in team]
        parent.start(printed, at_end, how.command, descriptors=[fd for pair in theirs for fd in pair])
    parent.send(payload, forks=theirs, modules=tuple(how.modules))
    parent.greet(f"{named(make)} or {named(use)}")
    before = parent.read()
    _let_all([parent], how.timeout)
    end = time.monotonic() + (START_LIMIT if not parent.stopped and parent.alive() else 0)
    team = [m for m in team if m.mail.greeting.wait(max(0, end - time.monotonic())) and m.mail.pid is not None]
    _let_all(team, how.timeout)
    after = {member: member.read() for member in (parent, *team)}
    end = time.monotonic() + how.timeout
    for member in team:
        member.report(end)
        member.allow(b"end")
    parent.report(time.monotonic() + START_LIMIT)  # it knows how the workers ended, once all have
    for member, code in zip(team, parent.message.get("codes", ()), strict=False):
        member.code = code
    parent.leave()
    alive = sum(shares is not None for shares in after.values())
    return [_row(member, shares, _base(before, member is parent, alive)) for member, shares in after.items()]


def _base(before: Shares, parent: bool, family: int) -> Shares:
    """The part of the parent's memory before `make` that a row doesn't count: see `workers`.

    fork(2) copies the page table of anonymous memory only; the child maps a file's pages again when it touches them.
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


def _row(member: _Member, after: Shares | None, base: Shares) -> Shares:
    grown = {c: None if after is None else getattr(after, c) - getattr(base, c) for c in COLUMNS}
    ended = ending(member.ended, member.error)
    return Shares(member.name, member.mail.pid, **grown, value=member.value[0], ended=ended)


def _let_all(team: Sequence[_Member], timeout: float) -> None:
    """Lets all members go at once and waits for them; a member that isn't back in time is stopped."""
    for member in team:
        member.allow(b"call")
    end = time.monotonic() + timeout
    for member in team:
        if not member.wait(member.mail.done, end) and member.alive():
            member.stopped = member.stopped or "timed out"
