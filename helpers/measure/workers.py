"""`workers`: several processes use the same data at once: what each of them costs, and all of them
together.

A notebook's kernel is never forked. Either every worker is a fresh interpreter, or a fresh
interpreter makes the data and is then forked. child.py is what runs there.
"""

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

from ..units import MiB
from . import maps
from .process import START_LIMIT_S, Child, fork_of, named, pickled, shown, spawn
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
    with shown() as printed, ExitStack() as at_end:
        rows = (_forked if make else _fresh)(use, make, args, count, options, printed, at_end)
        return Sharing(tuple(rows), "growth")


def _fresh(
    use: Callable,
    make: None,
    args: tuple,
    count: int,
    how: Options,
    printed: BinaryIO,
    at_end: ExitStack,
) -> Iterator[Shares]:
    payload = pickled(use, args, named(use))
    names = [f"worker {number + 1}" for number in range(count)]
    started = [spawn(name, printed, LARGEST_VALUE, how.command, asked=how.stop) for name in names]
    team = [at_end.enter_context(worker) for worker in started]
    for worker in team:
        worker.send(payload, modules=tuple(how.modules))
    for worker in team:
        worker.greet(named(use))
    # Only when all have started: they share the interpreter's file.
    before = [_read(worker) for worker in team]
    _let_all(team, how.timeout)
    after = [_read(worker) for worker in team]
    end = time.perf_counter() + how.timeout
    for worker in team:
        worker.report(end)
    for worker in team:
        worker.leave()
    return map(_row, team, after, before)


def _forked(
    use: Callable,
    make: Callable,
    args: tuple,
    count: int,
    how: Options,
    printed: BinaryIO,
    at_end: ExitStack,
) -> Iterator[Shares]:
    try:
        payload = pickled(make, args, named(make), use)
    except TypeError:
        pickled(use, (), named(use))  # if `use` can't travel, the error names it
        raise
    with ExitStack() as theirs:  # after this, nothing waits for the forks' ends of the pipes
        forks = []
        ends = []
        for number in range(count):
            fork, its_ends = fork_of(
                f"worker {number + 1}", printed, LARGEST_VALUE, at_end, theirs, asked=how.stop
            )
            forks.append(fork)
            ends.append(its_ends)
        inherited = [end for pair in ends for end in pair]
        parent = at_end.enter_context(
            spawn("parent", printed, LARGEST_VALUE, how.command, inherited, asked=how.stop)
        )
    parent.send(payload, forks=ends, modules=tuple(how.modules))
    parent.greet(f"{named(make)} or {named(use)}")
    before = _read(parent)
    _let_all([parent], how.timeout)
    end = time.perf_counter() + (START_LIMIT_S if not parent.stopped and parent.alive() else 0)
    team = []
    for fork in forks:
        if fork.mail.greeting.wait(max(0, end - time.perf_counter())) and fork.mail.pid:
            team.append(fork)
    _let_all(team, how.timeout)
    after = {child: _read(child) for child in (parent, *team)}
    end = time.perf_counter() + how.timeout
    for worker in team:
        worker.report(end)
        worker.allow(b"end")
    parent.report(time.perf_counter() + START_LIMIT_S, team)
    parent.leave()
    alive = sum(shares is not None for shares in after.values())
    return (
        _row(child, shares, _base(before, child is parent, alive))
        for child, shares in after.items()
    )


def _read(child: Child) -> Shares | None:
    """None if it has ended."""
    try:
        return sharing({child.name: child.mail.pid}).rows[0]
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


def _row(child: Child, after: Shares | None, base: Shares) -> Shares:
    growth = {c: None if after is None else getattr(after, c) - getattr(base, c) for c in COLUMNS}
    ended = ending(child.ended, child.error)
    return Shares(child.name, child.mail.pid, **growth, value=child.value[0], ended=ended)


def _let_all(team: Sequence[Child], timeout: float) -> None:
    for child in team:
        child.allow(b"call")
    end = time.perf_counter() + timeout
    for child in team:
        child.wait(child.mail.done, end)
