"""`measure`: run a function in a fresh interpreter and sample it from outside. `compare`: do that for several in turn.

A fresh interpreter, because the notebook's own process is full of other things and a fork would share and dirty its
pages. From outside, because a sampler inside would be measured too. The caller has nothing else to do, so it samples.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..lasting import progress_bar
from ..units import MiB, size
from . import sampler
from .machine import here
from .process import GRACE, Process, carried, named, show
from .recording import IO, Comparison, Faults, Recording, Switches
from .sampler import Sample

LARGEST_RESULT = 16 * MiB
LONGEST_WAIT = 0.1  # seconds between two checks that the process is alive, when samples are rarer
SENDING = 4 * MiB  # memory that sending a result takes, on top of the result's own size


def measure(
    function: Callable,
    *args: Any,
    heap: bool = False,
    interval: float = 0.001,
    timeout: float = 60,
    memory_limit: int | str | None = None,
    name: str | None = None,
    objects: bool = False,
    modules: Sequence[str] = (),
    look: Callable[[int], None] | None = None,
) -> Recording:
    """Calls `function(*args)` in a fresh interpreter and returns its Recording.

    A function defined in a notebook travels by value, a function of an imported module by name. Open files and
    mappings can't travel: pass paths, and open them inside. Imports made inside the function count; imports at the top
    of the notebook don't. Standard input is empty there.

    What the function returns comes back as plain data, up to 16 MiB: None, bool, int, float, complex, str, bytes, list,
    tuple, dict, numpy's scalars and arrays without objects. For anything else, `value` is None and `error` says why.

    On Linux, anonymous and shared memory of processes that the function starts count too, each page once; file-backed
    memory, faults, times and I/O are those of its own process. Everything it started ends with it, even when this
    program is killed: watch.py explains what that takes, and what it can't promise.

    heap          run it a second time, in another process, under tracemalloc, for `heap_peak` (None if that run failed)
    interval      seconds between samples
    timeout       seconds until the result is here; then the call is stopped, and `ended` is "timed out"
    memory_limit  bytes or "8 MiB", enforced by the sampler: when anonymous and shared memory have grown by more, the
                  process is killed, and `ended` is "memory limit". (A limit on address space would forbid mappings.)
    objects       the result comes back as a pickle, which can run anything here: only for code of your own
    modules       names of modules to import there first, so that they don't count; a module that isn't there is skipped
    look          called here, with the process's number, after the function has ended and before its result is sent:
                  to see what it still holds, or to change a file under it

    An exception, a signal or a limit ends the run, not the lesson: see `Recording.ended`. What the function prints
    appears when it has ended; past 64 MiB it is stopped. TypeError if the function or its arguments can't be carried;
    ValueError if this machine can't keep the interval. Interrupting the call kills the process.
    """
    how = How(interval, timeout, memory_limit, objects, modules, look)
    return measured(function, args, how, heap=heap, name=name)


@dataclass(frozen=True)
class How:
    """The options of `measure`, and two for the rest of the house.

    command  starts the interpreter: must become it (exec), or end with its status, as a shell does
    stop     called here at every sample: None to go on, or why to stop the process, which is then how it `ended`
    """

    interval: float = 0.001
    timeout: float = 60
    memory_limit: int | str | None = None
    objects: bool = False
    modules: Sequence[str] = ()
    look: Callable[[int], None] | None = None
    command: Sequence[str] = ()
    stop: Callable[[], str | None] = lambda: None

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise ValueError(f"timeout is in seconds, more than 0, not {self.timeout!r}")
        if isinstance(self.modules, str):
            raise TypeError(f"modules is a list or tuple of names, not {self.modules!r}; write [{self.modules!r}]")

    @property
    def limit(self) -> int | None:
        """The memory limit in bytes."""
        return None if self.memory_limit is None else size(self.memory_limit)


def measured(
    function: Callable,
    args: tuple,
    how: How = How(),
    *,
    heap: bool = False,
    name: str | None = None,
    before: Callable[[], Any] = lambda: None,
) -> Recording:
    """`measure`, for the rest of the house: calls `before()` here before each run."""
    if not callable(function):
        raise TypeError(
            f"measure takes a function and its arguments, not {function!r}; write measure(f, x), not measure(f(x))"
        )
    label = name or named(function)
    payload, limit = carried(function, args, label), how.limit
    machine = here(_folder(args))
    before()
    run = _Run(label, payload, how).recording(machine)
    if heap and run.ended == "returned":
        before()
        more = limit and 4 * limit + 64 * MiB
        traced = _Run(label, payload, replace(how, memory_limit=more, timeout=4 * how.timeout, look=None), heap=True)
        run = replace(run, heap_peak=traced.heap_peak())
    return run


def why_no_start(command: Sequence[str]) -> str:
    """Why `command` starts nothing, in its own words, found by trying it; "" if it works."""
    try:
        tried = subprocess.run((*command, "true"), capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (tried.stderr.strip() or f"{command[0]} ended with {tried.returncode}") if tried.returncode else ""


def compare(
    functions: Mapping[str, Callable],
    *args: Any,
    repeat: int = 1,
    heap: bool = False,
    before: Callable[..., Any] | None = None,
    check: Callable[..., bool] | None = None,
    **options: Any,
) -> Comparison:
    """Measures each function with the same arguments, one at a time: `compare({"read": f, "mmap": g}, path)`.

    Each of the `repeat` rounds goes through all functions, so a slow minute hits them all alike. Options are those of
    `measure`; with `heap`, each function is traced once.

    before  `before(*args)` is called here, unmeasured, before each run, traced runs too: `drop_from_cache` makes runs
            cold, reading the file makes them warm
    check   `check(*args)` is called here, unmeasured, after each run that returned; if it returns False, compare raises
            ValueError, because a wrong result isn't worth measuring
    """
    if not isinstance(functions, Mapping):
        raise TypeError(
            f"compare takes a dict from name to function, not {type(functions).__name__}; "
            'write compare({"read": f, "mmap": g}, ...)'
        )
    unknown = set(options) - {"interval", "timeout", "memory_limit", "objects", "modules"}
    if unknown:
        raise TypeError(
            f"compare has no option {', '.join(sorted(unknown))}; "
            "its options: repeat, before, check, heap, interval, timeout, memory_limit, objects, modules"
        )
    if not functions or repeat < 1:
        raise ValueError(f"compare needs at least 1 function and 1 round, not {len(functions)} and repeat={repeat!r}")
    runs: dict[str, list[Recording]] = {name: [] for name in functions}
    prepare, how = partial(before, *args) if before else lambda: None, How(**options)
    with progress_bar(total=repeat * len(functions), unit="run") as bar:
        for round in range(repeat):
            for name, function in functions.items():
                bar.set_description(name, refresh=False)
                run = measured(function, args, how, name=name, heap=heap and round == 0, before=prepare)
                if round:
                    run = replace(run, heap_peak=runs[name][0].heap_peak)
                if check and run.ended == "returned" and not check(*args):
                    raise ValueError(f"{name} did not do its work: the check after its run failed")
                runs[name].append(run)
                bar.update()
    return Comparison(runs)


class _Run(Process):
    """A fresh process, sampled while it calls the function. Everything happens in the constructor."""

    def __init__(self, label: str, payload: bytes, how: How, heap: bool = False):
        super().__init__(label, LARGEST_RESULT, how.objects)
        self.how, self.limit, self.stop = how, how.limit, how.stop
        self.samples: list[tuple[float, Sample]] = []
        self.later: list[tuple[float, Sample]] = []
        self.last: Sample | None = None
        with tempfile.TemporaryFile() as printed, ExitStack() as at_end:
            if not heap:  # the traced run prints the same again
                at_end.callback(show, printed)
            self.start(printed, at_end, how.command)
            self.send(payload, modules=tuple(how.modules), heap=heap)
            self.greet(label)
            self.sampler = sampler.choose()(self.mail.pid, self.process.pid if self.line else None)
            at_end.callback(self.sampler.close)
            self._watch()

    def _watch(self) -> None:
        least = 4 * sampler.cost(self.sampler)
        if self.how.interval < least:
            raise ValueError(
                f"interval={self.how.interval!r} s is below what this machine can do: a sample takes "
                f"{least / 4 * 1e6:.0f} µs; use {max(0.001, 2 * least):.3g} or more"
            )
        self.base = self.sampler.read(thorough=True)
        if self.base is None:
            raise self.not_loaded(self.name)
        self.began = time.perf_counter()
        self.end = self.began + self.how.timeout
        self.allow(b"call")
        self._sample(self.mail.done.wait, self.samples)
        self.saw_end = time.perf_counter()
        if self.mail.done.is_set() and not self.stopped:
            self.last = self.sampler.read(thorough=True)  # its result is still there
            if self.how.look and self.last:
                self.how.look(self.mail.pid)
            self.allow(b"report")
            self._sample(self.mail.report.wait, self.later, LARGEST_RESULT)
        if not self.stopped:
            self.allow(b"end")
            self.end = time.perf_counter() + GRACE
            self._sample(self._has_ended, self.later, LARGEST_RESULT)
            if self.stopped == "timed out":
                self.stopped = None
            elif not self.stopped:
                self.wait_for_end()

    def _sample(self, over: Callable[[float], bool], into: list[tuple[float, Sample]], allowance: int = 0) -> None:
        """Samples until `over`, which does the waiting, says so; or the process has ended; or it is stopped."""
        due = time.perf_counter()
        while not self.stopped:
            now = time.perf_counter()
            if now >= due:
                sample = self.sampler.read()
                if sample is None:
                    break
                into.append((now, sample))
                due = max(due + self.how.interval, now + 3 * (time.perf_counter() - now))
                if self.limit is not None and self._own(sample) > self.limit + allowance:
                    self.stopped = "memory limit"
            elif not self.alive():
                break
            if now > self.end:
                self.stopped = self.stopped or "timed out"
            elif self.prints_too_much():
                self.stopped = "printed too much"
            elif why := self.stop():
                self.stopped = why
            elif not self.stopped and over(max(0, min(due, self.end, now + LONGEST_WAIT) - time.perf_counter())):
                break

    def _has_ended(self, seconds: float) -> bool:
        time.sleep(seconds)
        return not self.alive()

    def _own(self, sample: Sample) -> int:
        """Growth that only swap could take: anonymous and shared, or all of resident where kinds are unknown."""
        if sample.anonymous is None:
            return sample.resident - self.base.resident
        return sample.anonymous + sample.shared - self.base.anonymous - self.base.shared

    def recording(self, machine) -> Recording:
        """What counts is what this process saw. The child's clock may only make that more exact. Growth after the
        function has returned counts only where it is more than sending the result takes."""
        message = self.message
        began = min(max(message.get("began", 0), self.began), self.saw_end)
        finished = min(max(message.get("finished", self.saw_end), began), self.saw_end)
        kept = [(min(max(t, began), finished), s) for t, s in self.samples]
        if self.last:
            most = self._own(self.last) + len(self.mail.value) + SENDING
            kept += [(finished, s) for _, s in self.later if self._own(s) > most]
            kept.append((finished, self.last))
        kept = kept or [(began, self.base)]
        value, refused = self.value
        series = {
            kind: None
            if getattr(self.base, kind) is None
            else np.array([getattr(s, kind) - getattr(self.base, kind) for _, s in kept], np.int64)
            for kind in ("anonymous", "file", "shared", "resident")
        }
        virtual = [s.virtual - self.base.virtual for _, s in kept if s.virtual is not None]
        count = message.get("counters", {}).get
        return Recording(
            name=self.name,
            machine=machine,
            times=np.round([t - began for t, _ in kept], 6),
            **series,
            faults=Faults(count("minor"), count("major")),
            switches=Switches(count("voluntary"), count("involuntary")),
            io=IO(
                count("syscr"),
                count("syscw"),
                count("rchar"),
                count("wchar"),
                count("read_bytes"),
                count("write_bytes"),
            ),
            wall=round(finished - began, 6),
            user=count("user"),
            system=count("system"),
            value=value,
            high_water=message.get("high_water"),
            virtual_peak=max(0, max(virtual)) if virtual else None,
            ended=self.ended,
            error=self.error or refused,
        )

    def heap_peak(self) -> int | None:
        return self.message.get("heap_peak") if self.ended == "returned" else None


def _folder(args: tuple) -> str | os.PathLike | None:
    """The first argument that is a path: it tells which file system was measured."""
    return next(
        (a for a in args if isinstance(a, str | os.PathLike) and len(str(a)) < 4096 and os.path.exists(a)),
        None,
    )
