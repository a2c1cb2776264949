"""`measure`: run a function in a fresh interpreter and sample it from outside. `compare`: several, one after another.

A fresh interpreter, because the notebook's own process is full of other things and a fork would share and dirty its
pages. From outside, because a sampler inside would be measured too. The caller has nothing else to do, so it samples.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle
import numpy as np
import psutil
from tqdm.auto import tqdm

from ..units import KiB, MiB, size
from . import sampler
from .machine import here
from .recording import IO, Comparison, Faults, Recording, Switches

CHILD = Path(__file__).with_name("child.py")
LARGEST_RESULT = 16 * MiB
START_LIMIT = 60.0  # seconds for a fresh interpreter to start and load the function


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
    label = name or getattr(function, "__name__", type(function).__name__)
    payload = _carried(function, args, label)
    options = {"path": sys.path, "heap": False, "largest_result": LARGEST_RESULT}
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


class _Run:
    """One fresh process, from start to end. Everything happens in the constructor; nothing outlives it."""

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
        self.label, self.limit, self.stopped = label, limit, None
        self.samples: list[tuple[float, sampler.Sample]] = []
        self.last: sampler.Sample | None = None
        with tempfile.TemporaryFile() as printed:
            self.process = subprocess.Popen(
                [*command, sys.executable, str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                start_new_session=os.name == "posix",
            )
            try:
                self.mail = _Mail(self.process.stdout)
                self._start(payload, options, interval)
                self._watch(interval, timeout)
            finally:
                self._end()
                if not silent:
                    _show(printed)

    def _start(self, payload: bytes, options: dict, interval: float) -> None:
        with suppress(OSError):
            pickle.dump((payload, options), self.process.stdin)
            self.process.stdin.flush()
        if not self.mail.greeting.wait(START_LIMIT):
            raise TimeoutError(f"{self.label}: a fresh interpreter did not start within {START_LIMIT:.0f} s")
        if self.mail.pid is None:
            self.mail.report.wait(START_LIMIT)
            raise not_loaded(self.label, self.mail)
        self.sampler = sampler.choose()(self.process.pid)
        least = 4 * sampler.cost(self.sampler)
        if interval < least:
            raise ValueError(
                f"interval={interval!r} s is below what this machine can do: one sample takes "
                f"{least / 4 * 1e6:.0f} µs; use {max(0.001, 2 * least):.3g} or more"
            )
        self.base = self.sampler.read()
        if self.base is None:
            raise not_loaded(self.label, self.mail)

    def _allow(self, step: bytes) -> None:
        with suppress(OSError):  # it may have ended: that shows elsewhere
            self.process.stdin.write(step + b"\n")
            self.process.stdin.flush()

    def _watch(self, interval: float, timeout: float) -> None:
        self.began = due = time.perf_counter()
        end = self.began + timeout
        self._allow(b"call")
        while not self.stopped:
            now = time.perf_counter()
            sample = self.sampler.read()
            if sample is None:
                break
            self.samples.append((now, sample))
            due = max(due + interval, now)
            if now > end:
                self.stopped = "timed out"
            elif self.limit is not None and self._own(sample) > self.limit:
                self.stopped = "memory limit"
            elif self.mail.done.wait(min(due, end) - time.perf_counter()):
                break
        self.saw_end = time.perf_counter()
        if not self.stopped:
            self.last = self.sampler.read()  # what it returned is still there
            self._allow(b"report")
            end = self.saw_end + START_LIMIT
            while not self.mail.report.wait(0.02) and self.process.poll() is None and time.perf_counter() < end:
                pass  # not one long wait: what the function started may hold the pipe open when it is dead itself

    def _own(self, sample: sampler.Sample) -> int:
        """Growth that only swap could take: anonymous and shared, or all that is resident where kinds are unknown."""
        if sample.anonymous is None:
            return sample.resident - self.base.resident
        return sample.anonymous + sample.shared - self.base.anonymous - self.base.shared

    def _end(self) -> None:
        """Whatever happened, nothing is left running: the process, what it started, its pipes."""
        started = _descendants(self.process.pid)
        try:
            if not self.stopped and self.mail.report.is_set():  # let it end by itself: it may have to clean up
                self._allow(b"end")
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)
        finally:
            self.code = self.process.poll()  # None: it ends only because we end it
            _kill(self.process, started)
            self.mail.join(2)
            with suppress(OSError):
                self.process.stdin.close()
            if not self.mail.is_alive():  # else somebody out of reach still holds the other end
                self.process.stdout.close()
            if hasattr(self, "sampler"):
                self.sampler.close()

    # --- what came of it --------------------------------------------------------------------------------
    def ending(self) -> str:
        if self.stopped:
            return self.stopped
        if self.mail.message:
            return self.mail.message["ended"]
        if self.code is None:
            return "lost contact"
        return ended_by(self.code)

    def recording(self, machine) -> Recording:
        message = self.mail.message or {}
        began, finished = message.get("began", self.began), message.get("finished", self.saw_end)
        kept = [(t, s) for t, s in self.samples if began <= t < finished]
        kept += [(finished, self.last)] if self.last and message else []
        kept = kept or [(began, self.base)]
        value, refused = _unpacked(message.get("value"))
        series = {
            kind: None
            if getattr(self.base, kind) is None
            else np.array([getattr(s, kind) - getattr(self.base, kind) for _, s in kept], np.int64)
            for kind in ("anonymous", "file", "shared", "resident")
        }
        virtual = [s.virtual - self.base.virtual for _, s in kept if s.virtual is not None]
        count = message.get("counters", {}).get
        return Recording(
            name=self.label,
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
            ended=self.ending(),
            error=message.get("error") or refused,
        )

    def heap_peak(self) -> int | None:
        return (self.mail.message or {}).get("heap_peak") if self.ending() == "returned" else None


class _Mail(threading.Thread):
    """Reads what the child sends, while the caller samples."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.pid, self.message = stream, None, None
        self.greeting, self.done, self.report = threading.Event(), threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        try:
            word = self.stream.readline()
            self.pid = int(word.split()[1]) if word.startswith(b"ready ") else None
            self.greeting.set()
            if self.pid is not None:
                self.stream.readline()
                self.done.set()
            length = int.from_bytes(self.stream.read(8), "little")
            data = self.stream.read(length)
            if length and len(data) == length:
                self.message = pickle.loads(data)
        finally:
            for event in (self.greeting, self.done, self.report):
                event.set()


def not_loaded(label: str, mail: _Mail) -> TypeError:
    why = mail.message["error"] if mail.message else "it ended meanwhile"
    return TypeError(
        f"{label} could not be loaded in a fresh interpreter: {why}. What it imports must be "
        "importable there; what it needs of the notebook must be something that can be pickled"
    )


def ended_by(code: int) -> str:
    """In words, how a process ended by itself: `subprocess.Popen.returncode`, negative for a signal."""
    if code >= 0:
        return f"exited {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal between the named ones
        return f"signal {-code}"


def _descendants(pid: int) -> list[psutil.Process]:
    """What it has started, and what that has started, as far as it is still running."""
    try:
        return [process for process in psutil.Process(pid).children(recursive=True) if _runs(process)]
    except psutil.NoSuchProcess:
        return []


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kill(process: subprocess.Popen, started: list[psutil.Process]) -> None:
    """The process and all it has started, also what is started while we look: so it is stopped first."""
    if os.name == "posix" and process.poll() is None:
        process.send_signal(signal.SIGSTOP)
    killed: list[psutil.Process] = []
    while started := [one for one in started if one not in killed]:
        for one in started:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        killed += started
        started = _descendants(process.pid) if process.poll() is None else []
    process.kill()
    process.wait()
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # what outlived its parent before we looked
            os.killpg(process.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while any(map(_runs, killed)) and time.monotonic() < until:  # who takes note of its end may take longer
        time.sleep(0.005)


def _show(printed: BinaryIO) -> None:
    """What the function printed; of very much, the beginning and the end."""
    length, most = printed.seek(0, os.SEEK_END), 64 * KiB
    printed.seek(0)
    text = printed.read(most).decode(errors="replace")
    if length > most:
        printed.seek(max(most, length - most))
        left_out = printed.tell() - most
        text += f"\n… {left_out:,} bytes left out …\n" * bool(left_out) + printed.read().decode(errors="replace")
    sys.stdout.write(text)


def _unpacked(value: bytes | None) -> tuple[Any, str | None]:
    try:
        return (pickle.loads(value) if value else None), None
    except Exception as error:
        return None, f"the result came back, but cannot be rebuilt here ({error}); return plain data instead"


def _carried(function: Callable, args: tuple, label: str, *more: Callable) -> bytes:
    try:
        return cloudpickle.dumps((function, args, *more), protocol=5)
    except Exception as error:
        raise TypeError(
            f"{label} cannot be carried to a fresh interpreter: {error}. Open files, mappings and locks "
            "inside the function, and pass it paths and plain data"
        ) from error


def _folder(args: tuple) -> str | os.PathLike:
    """The first argument that is a path, to know which file system was measured; else where we stand."""
    return next(
        (a for a in args if isinstance(a, str | os.PathLike) and len(str(a)) < 4096 and os.path.exists(a)),
        ".",
    )
