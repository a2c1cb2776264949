"""`workers`: several processes use the same data at once: what each of them costs, and all of them
together.

A notebook's kernel is never forked. Either every worker is a fresh interpreter, or a fresh
interpreter makes the data and is then forked. child.py is what runs there.
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
from .process import START_LIMIT_S, Mail, Process, named, pickled, reply_channel, show
from .recording import ending
from .run import Options
from .sharing import COLUMNS, Shares, Sharing, sharing

LARGEST_VALUE = 1 * MiB


def workers(
    use: Callable,
    *args: Any,
    count: int = 4,
    make: Callable | None = None,
    timeout: float = 60,
    modules: Sequence[str] = (),
) -> Sharing:
    """`count` processes call `use` at once and keep what it returns; a row for each says what that
    took, in bytes.

    Without `make`, each worker is a fresh interpreter that calls `use(*args)`; the rows are "worker
    1", "worker 2", …. A figure is growth: the reading when all have returned, less the reading when
    all were ready.

    With `make`, one fresh interpreter calls `data = make(*args)` and is forked `count` times; each
    fork calls `use(data)`. The rows are "parent" and the workers. Together they grew by everything
    that they have in the end, less what the parent had before `make`; `_base` says how that is
    divided. A worker's `private_dirty` is what it wrote. No garbage is collected between `make` and
    `use`.

    A row's `value` is what `use` returned, as plain data; None for anything else and for more than
    1 MiB. `ended` is as in a Recording (`timeout` is in seconds, for `make` and for `use` each). A
    worker that timed out has the figures of that moment, a worker that died has none. If `make`
    fails, "parent" is the only row. Functions travel as in `measure`, with the same `modules` and
    the same TypeError. Where the memory of other processes can't be read, nothing runs and the
    result says why.
    """
    return at_work(use, args, count, Options(timeout=timeout, modules=modules), make)


def at_work(
    use: Callable, args: tuple, count: int, options: Options, make: Callable | None = None
) -> Sharing:
    """`workers`, for internal callers."""
    for function, what in ((use, "use"), (make or use, "make")):
        if not callable(function):
            raise TypeError(
                f"workers takes a function and its arguments; {what} is {function!r}; leave out "
                "its ()"
            )
    if operator.index(count) < 1:
        raise ValueError(f"workers needs at least 1 worker, not count={count!r}")
    if reason := maps.why_not():
        return Sharing((), "growth", reason)
    with tempfile.TemporaryFile() as printed, ExitStack() as at_end:
        at_end.callback(show, printed)
        team = [Process(f"worker {i + 1}", LARGEST_VALUE, stop=options.stop) for i in range(count)]
        if make:
            return Sharing(
                tuple(_forked(use, make, args, team, options, printed, at_end)), "growth"
            )
        name = named(use)
        payload = pickled(use, args, name)
        for worker in team:
            worker.start(printed, at_end, options.command)
        for worker in team:
            worker.send(payload, modules=tuple(options.modules))
        for worker in team:
            worker.greet(name)
        # only when all have started: they share the interpreter's file
        before = [_read(worker) for worker in team]
        _let_all(team, options.timeout)
        after = [_read(worker) for worker in team]
        end = time.monotonic() + options.timeout
        for worker in team:
            worker.report(end)
        for worker in team:
            worker.leave()
        return Sharing(tuple(map(_row, team, after, before)), "growth")


def _forked(
    use: Callable,
    make: Callable,
    args: tuple,
    team: list[Process],
    how: Options,
    printed: BinaryIO,
    at_end: ExitStack,
) -> list[Shares]:
    try:
        payload = pickled(make, args, named(make), use)
    except TypeError:
        pickled(use, (), named(use))  # if `use` can't travel, the error names it
        raise
    parent = Process("parent", LARGEST_VALUE, stop=how.stop)
    # whatever happens, nothing waits for the forks' ends of the pipes after this
    with ExitStack() as started:
        pipes = [_connect(worker, printed, at_end, started) for worker in team]
        parent.start(
            printed, at_end, how.command, descriptors=[fd for pair in pipes for fd in pair]
        )
    parent.send(payload, forks=pipes, modules=tuple(how.modules))
    parent.greet(f"{named(make)} or {named(use)}")
    before = _read(parent)
    _let_all([parent], how.timeout)
    end = time.monotonic() + (START_LIMIT_S if not parent.stopped and parent.alive() else 0)
    team = [
        m
        for m in team
        if m.mail.greeting.wait(max(0, end - time.monotonic())) and m.mail.pid is not None
    ]
    _let_all(team, how.timeout)
    after = {process: _read(process) for process in (parent, *team)}
    end = time.monotonic() + how.timeout
    for worker in team:
        worker.report(end)
        worker.allow(b"end")
    parent.report(time.monotonic() + START_LIMIT_S)  # it knows how the workers ended, once all have
    for worker, code in zip(team, parent.mail.message.get("codes", ()), strict=False):
        worker.code = code
    parent.leave()
    alive = sum(shares is not None for shares in after.values())
    return [
        _row(process, shares, _base(before, process is parent, alive))
        for process, shares in after.items()
    ]


def _connect(
    worker: Process, printed: BinaryIO, at_end: ExitStack, started: ExitStack
) -> tuple[int, int]:
    its_inbox, inbox = os.pipe()
    started.callback(os.close, its_inbox)
    inbox = at_end.enter_context(os.fdopen(inbox, "wb"))
    replies, its_outbox = reply_channel(at_end, started)
    worker.printed = printed
    worker.inbox, worker.mail = inbox, Mail(replies, LARGEST_VALUE)
    at_end.callback(worker.hang_up)
    return its_inbox, its_outbox


def _read(process: Process) -> Shares | None:
    """None if it has ended."""
    try:
        return sharing({process.name: process.mail.pid}).rows[0]
    except OSError:
        return None


def _base(before: Shares, parent: bool, family: int) -> Shares:
    """The part of the parent's memory before `make` that a row doesn't count.

    The forks share its anonymous pages, so every row subtracts them: `pss` in equal parts, `rss`
    and `anonymous` in full, `uss` and `private_dirty` not at all, because after a fork a process
    has a page to itself only once it has written to it, or once the others no longer have it.
    fork(2) copies the page table of anonymous memory only; the child maps a file's pages again when
    it touches them.
    """
    if family <= 1:
        return before
    own = before.anonymous
    forked = Shares(
        "", 0, rss=own, pss=own // family, uss=0, anonymous=own, file=0, private_dirty=0
    )
    if not parent:
        return forked
    return replace(
        before,
        pss=before.pss - own + own // family,
        uss=max(0, before.uss - own),
        private_dirty=max(0, before.private_dirty - own),
    )


def _row(process: Process, after: Shares | None, base: Shares) -> Shares:
    growth = {c: None if after is None else getattr(after, c) - getattr(base, c) for c in COLUMNS}
    ended = ending(process.ended, process.error)
    return Shares(process.name, process.mail.pid, **growth, value=process.value[0], ended=ended)


def _let_all(team: Sequence[Process], timeout: float) -> None:
    for process in team:
        process.allow(b"call")
    end = time.monotonic() + timeout
    for process in team:
        if not process.wait(process.mail.done, end) and process.alive():
            process.stopped = process.stopped or "timed out"
