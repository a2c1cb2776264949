"""`workers`: several processes use the same data at once: what each of them costs, and all of them
together.

A notebook's kernel is never forked. Either every worker is a fresh interpreter, or a fresh
interpreter makes the data and is then forked. child.py is what runs there.
"""

import operator
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from ..units import MiB
from . import maps
from .process import START_LIMIT_S, Child, named, pickled, shown, spawn
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
    payload = _carried(use, args, make)
    names = [f"worker {number + 1}" for number in range(count)]
    with shown() as printed, ExitStack() as at_end:
        how = {"command": options.command, "asked": options.stop}
        start = partial(spawn, printed=printed, largest=LARGEST_VALUE, **how)
        started = [start("parent", forks=names)] if make else map(start, names)
        team = [at_end.enter_context(child) for child in started]
        for child in team:
            child.send(payload, modules=tuple(options.modules))
        for child in team:
            child.greet(f"{named(make)} or {named(use)}" if make else named(use))
        # Only when all have started: they share the interpreter's file.
        before = [_read(child) for child in team]
        _let_all(team, options.timeout)
        rows = (_with_forks if make else _alike)(team, before, options.timeout)
    return Sharing(tuple(rows), "growth")


def _carried(use: Callable, args: tuple, make: Callable | None) -> bytes:
    if not make:
        return pickled(use, args, named(use))
    try:
        return pickled(make, args, named(make), use)
    except TypeError:
        pickled(use, (), named(use))  # if `use` can't travel, the error names it
        raise


def _alike(team: list[Child], before: list[Shares], timeout: float) -> list[Shares]:
    after = [_read(worker) for worker in team]
    end = time.perf_counter() + timeout
    for worker in team:
        worker.report(end)
    for worker in team:
        worker.leave()
    return list(map(_row, team, after, before))


def _with_forks(team: list[Child], before: list[Shares], timeout: float) -> list[Shares]:
    (parent,) = team
    end = time.perf_counter() + (START_LIMIT_S if not parent.stopped and parent.alive() else 0)
    for fork in parent.forks.values():
        if fork.mail.greeting.wait(max(0, end - time.perf_counter())) and fork.mail.pid:
            team.append(fork)
    _let_all(team[1:], timeout)
    after = [_read(child) for child in team]
    end = time.perf_counter() + timeout
    for worker in team[1:]:
        worker.report(end)
        worker.allow(b"end")
    parent.report(time.perf_counter() + START_LIMIT_S)
    parent.leave()
    alive = sum(shares is not None for shares in after)
    bases = [_base(*before, child is parent, alive) for child in team]
    return list(map(_row, team, after, bases))


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
