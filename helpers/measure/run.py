"""`measure`: run a function in a fresh interpreter and sample it from outside. `compare`: several, one after another.

A fresh interpreter, because the notebook's own process is full of other things and a fork would share and dirty its
pages. From outside, because a sampler inside would be measured too. The caller has nothing else to do, so it samples.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..units import MiB, size
from . import sampler
from .machine import here
from .process import Process, carried, named, show
from .recording import IO, Comparison, Faults, Recording, Switches
from .sampler import Sample

LARGEST_RESULT = 16 * MiB


def measure(
    function: Callable,
    *args: Any,
    heap: bool = False,
    interval: float = 0.001,
    timeout: float = 60,
    memory_limit: int | str | None = None,
    name: str | None = None,
) -> Recording:
    """Calls `function(*args)` in a fresh interpreter and returns its Recording.

    A function defined in a notebook travels by value, one of an imported module by its name. Open files and mappings
    cannot travel: pass paths, and open them inside. Imports made inside the function count; those at the top of the
    notebook do not. Only the process itself is measured, not processes it starts. Standard input is empty there.

    heap          run it a second time, in another process, under tracemalloc, for `heap_peak` (None if that run failed)
    interval      seconds between samples
    timeout       seconds; the call is stopped after that, and `ended` is "timed out"
    memory_limit  bytes or "8 MiB", kept by the sampler: when anonymous and shared memory have grown by more, the
                  process is killed, and `ended` is "memory limit". (A limit on address space would forbid mappings.)

    An exception, a signal or a limit ends the case, not the lesson: see `Recording.ended`. What the function prints
    is printed when it has ended. TypeError if function or arguments cannot be carried; ValueError for an interval
    that this machine cannot keep. Interrupting the call kills the process.
    """
    return measured(function, args, heap, interval, timeout, memory_limit, name)


def measured(
    function: Callable,
    args: tuple,
    heap: bool = False,
    interval: float = 0.001,
    timeout: float = 60,
    memory_limit: int | str | None = None,
    name: str | None = None,
    before: Callable[[], Any] = lambda: None,
    command: Sequence[str] = (),
) -> Recording:
    """`measure`, for the rest of the room: `before()` is called here before each of its runs, and the interpreter is
    started through `command`, which must become it (exec)."""
    if not callable(function):
        raise TypeError(
            f"measure takes a function and its arguments, not {function!r}; write measure(f, x), not measure(f(x))"
        )
    if not timeout > 0:
        raise ValueError(f"timeout is in seconds and more than 0, not {timeout!r}")
    limit = None if memory_limit is None else size(memory_limit)
    label = name or named(function)
    payload = carried(function, args, label)
    options = {"largest_result": LARGEST_RESULT}
    machine = here(_folder(args))
    before()
    run = _Run(payload, options, label, interval, timeout, limit, command).recording(machine)
    if heap and run.ended == "returned":
        options |= {"heap": True}
        before()
        more = limit and 4 * limit + 64 * MiB
        traced = _Run(payload, options, label, interval, timeout * 4, more, command, silent=True)
        run = replace(run, heap_peak=traced.heap_peak())
    return run


def why_no_start(command: Sequence[str]) -> str:
    """Why `measured` could start nothing through that command: found by trying, as it says itself; "" if it could."""
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

    `repeat` rounds, each through all functions, so that a slow minute hits all alike. Options are those of `measure`;
    with `heap`, the traced run is made once for each function.

    before  `before(*args)` is called here, unmeasured, before each run, the traced one too: `drop_from_cache` makes
            cold runs of a path, reading the file makes warm ones
    check   `check(*args)` is called here, unmeasured, after each run that returned: a wrong result is worth no
            measurement, so where it says False, ValueError
    """
    if not isinstance(functions, Mapping):
        raise TypeError(
            f"compare takes a dict of name to function, not {type(functions).__name__}; "
            'write compare({"read": f, "mmap": g}, ...)'
        )
    unknown = set(options) - {"interval", "timeout", "memory_limit"}
    if unknown:
        raise TypeError(
            f"compare has no option {', '.join(sorted(unknown))}; "
            "there are: repeat, before, check, heap, interval, timeout, memory_limit"
        )
    if not functions or repeat < 1:
        raise ValueError(f"compare needs a function and a round, not {len(functions)} functions, repeat={repeat!r}")
    runs: dict[str, list[Recording]] = {name: [] for name in functions}
    prepare = partial(before, *args) if before else lambda: None
    with tqdm(total=repeat * len(functions), delay=2, leave=False, unit="run") as bar:
        for round in range(repeat):
            for name, function in functions.items():
                bar.set_description(name, refresh=False)
                run = measured(function, args, name=name, heap=heap and round == 0, before=prepare, **options)
                if round:
                    run = replace(run, heap_peak=runs[name][0].heap_peak)
                if check and run.ended == "returned" and not check(*args):
                    raise ValueError(f"{name} did not do its work: the check said no afterwards")
                runs[name].append(run)
                bar.update()
    return Comparison(runs)


class _Run(Process):
    """One fresh process, sampled while it calls the function. Everything happens in the constructor."""

    def __init__(
        self,
        payload: bytes,
        options: dict,
        label: str,
        interval: float,
        timeout: float,
        limit: int | None,
        command: Sequence[str] = (),
        silent: bool = False,
    ):
        super().__init__(label)
        self.samples: list[tuple[float, Sample]] = []
        self.last: Sample | None = None
        with tempfile.TemporaryFile() as printed, ExitStack() as at_end:
            if not silent:
                at_end.callback(show, printed)
            self.start(printed, at_end, command)
            self.send(payload, **options)
            self.greet(label)
            self.sampler = sampler.choose()(self.process.pid)
            at_end.callback(self.sampler.close)
            self._watch(interval, timeout, limit)

    def _watch(self, interval: float, timeout: float, limit: int | None) -> None:
        least = 4 * sampler.cost(self.sampler)
        if interval < least:
            raise ValueError(
                f"interval={interval!r} s is below what this machine can do: one sample takes "
                f"{least / 4 * 1e6:.0f} µs; use {max(0.001, 2 * least):.3g} or more"
            )
        self.base = self.sampler.read()
        if self.base is None:
            raise self.not_loaded(self.name)
        self.began = due = time.perf_counter()
        end = self.began + timeout
        self.allow(b"call")
        while not self.stopped:
            now = time.perf_counter()
            sample = self.sampler.read()
            if sample is None:
                break
            self.samples.append((now, sample))
            due = max(due + interval, now)
            if now > end:
                self.stopped = "timed out"
            elif limit is not None and self._own(sample) > limit:
                self.stopped = "memory limit"
            elif self.mail.done.wait(min(due, end) - time.perf_counter()):
                break
        self.saw_end = time.perf_counter()
        if not self.stopped:
            self.last = self.sampler.read()  # what it returned is still there
            self.report()
            self.leave()

    def _own(self, sample: Sample) -> int:
        """Growth that only swap could take: anonymous and shared, or all that is resident where kinds are unknown."""
        if sample.anonymous is None:
            return sample.resident - self.base.resident
        return sample.anonymous + sample.shared - self.base.anonymous - self.base.shared

    def recording(self, machine) -> Recording:
        message = self.message
        began, finished = message.get("began", self.began), message.get("finished", self.saw_end)
        kept = [(t, s) for t, s in self.samples if began <= t < finished]
        kept += [(finished, self.last)] if self.last and message else []
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
            times=np.round([max(0.0, t - began) for t, _ in kept], 6),
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
            error=message.get("error") or refused,
        )

    def heap_peak(self) -> int | None:
        return self.message.get("heap_peak") if self.ended == "returned" else None


def _folder(args: tuple) -> str | os.PathLike:
    """The first argument that is a path, to know which file system was measured; else where we stand."""
    return next(
        (a for a in args if isinstance(a, str | os.PathLike) and len(str(a)) < 4096 and os.path.exists(a)),
        ".",
    )
