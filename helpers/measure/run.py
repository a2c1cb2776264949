"""`measure`: run a function in a fresh interpreter and sample it from outside. `compare`: do that
for several in turn.

A fresh interpreter, because the notebook's own process is full of other things and a fork would
share and dirty its pages. From outside, because a sampler inside would be measured too. The caller
has nothing else to do, so it samples.
"""

import ast
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..units import MiB, size
from ..widgets import progress_bar
from . import marks, sampler, stacks
from .machine import Machine, here
from .process import GRACE_S, Child, named, pickled, shown, spawn
from .recording import IO, Comparison, Faults, Mark, Recording, Switches
from .sampler import Sample

LARGEST_RESULT = 16 * MiB
TRIES = 3  # to see a peak
LONGEST_PAUSE_S = 0.02  # after a sample that took long, as of many processes or on a busy machine
LONGEST_WAIT_S = 0.1  # between two checks that the process is alive, when samples are rarer
TRACED = ("heap_peak", "heap_left", "stack")  # what traced runs give
MOST_TRACED = 1024 * MiB  # what memray may write to the disk
SENDING = 4 * MiB  # memory that sending a result takes, on top of the result's own size
KINDS = ("anonymous", "file", "shared", "resident")
ENDED_BY_ITSELF = ("returned", "raised")
Samples = list[tuple[float, Sample]]  # when it was taken, and what it saw


def measure(function: Callable, *args: Any, name: str | None = None, **options: Any) -> Recording:
    """Calls `function(*args)` in a fresh interpreter and returns its Recording.

    A function defined in a notebook travels by value, a function of an imported module by name.
    Open files and mappings can't travel: pass paths, and open them inside. Imports made inside the
    function count; imports at the top of the notebook don't.

    What the function returns comes back as plain data, up to 16 MiB: None, bool, int, float,
    complex, str, bytes, list, tuple, dict, numpy's scalars and arrays without objects. For anything
    else, `value` is None and `error` says why. If it returns a coroutine, that runs, and its result
    comes back.

    On Linux, anonymous and shared memory of processes that the function starts count too, each page
    once, and the I/O of those that have ended; file-backed memory, faults and times are of its own
    process. What it started ends with it. If some memory may have been missed, `unseen` says why.

    heap          run it a second time, in another process, under tracemalloc, for `heap_peak` (None
                  if that run failed)
    stack         run it twice more (if it was killed, once) under memray, or once under tracemalloc
                  where memray isn't installed: `stack` tells which Python stacks allocated what was
                  there at the peak, and when it ended, however
    interval      seconds between samples, 0.001 if not given
    timeout       seconds until the result is here, 60 if not given; then `ended` is "timed out"
    memory_limit  bytes or "8 MiB": when anonymous and shared memory have grown by more, the process
                  is killed, and `ended` is "memory limit". (A limit on address space would forbid
                  mappings.)
    objects       the result comes back as a pickle, which can run anything here: only for code of
                  your own
    modules       names of modules to import there first, so that they don't count; a module that
                  isn't there is skipped
    warm          call it once before, in the same process, unmeasured; what that returns is let go
                  of
    calls         "module:function", "module:Class.method", or "function" of the notebook: marks
                  where their calls begin and end, as `mark` does
    inspect       called here, with the process's number, after the function has ended and before
                  its result is sent: to see what it still holds, or to change a file under it, in a
                  thread; the limits hold meanwhile

    An exception, a signal or a limit ends the run, not the lesson: see `Recording.ended`. What the
    function prints appears when it has ended; past 64 MiB it is stopped. TypeError if the function
    or its arguments can't be pickled; ValueError if this machine can't keep the interval.
    Interrupting the call kills the process, and the KeyboardInterrupt has what was measured until
    then: `run`.
    """
    return measured(function, args, _chosen(options, "measure", "name"), name)


@dataclass(frozen=True)
class Options:
    """The options of `measure`, plus three for internal callers.

    printed  the descriptor to which what the function prints goes at once
    command  starts the interpreter: must become it (exec), or end with its status, as a shell does
    stop     called here at every sample: None to go on, or why to stop the process, which is then
             how it `ended`
    """

    heap: bool = False
    stack: bool = False
    interval: float = 0.001
    timeout: float = 60
    memory_limit: int | str | None = None
    objects: bool = False
    modules: Sequence[str] = ()
    warm: bool = False
    calls: Sequence[str] = ()
    inspect: Callable[[int], None] | None = None
    printed: int | None = None
    command: Sequence[str] = ()
    stop: Callable[[], str | None] = lambda: None

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise ValueError(f"timeout is in seconds, more than 0, not {self.timeout!r}")
        if isinstance(self.modules, str):
            raise TypeError(
                f"modules is a list or tuple of names, not {self.modules!r}; write "
                f"[{self.modules!r}]"
            )

    @property
    def limit(self) -> int | None:
        return None if self.memory_limit is None else size(self.memory_limit)


def _chosen(options: Mapping[str, Any], of: str, *more: str) -> Options:
    known = (
        *more,
        *(one.name for one in fields(Options) if one.name not in ("printed", "command", "stop")),
    )
    if unknown := ", ".join(sorted(options.keys() - known)):
        raise TypeError(f"{of} has no option {unknown}; its options: {', '.join(known)}")
    return Options(**options)


def measured(
    function: Callable,
    args: tuple,
    options: Options,
    name: str | None = None,
    before: Callable = lambda: None,
) -> Recording:
    """`measure`, for internal callers. `before()` is called here before each run."""
    if not callable(function):
        raise TypeError(
            f"measure takes a function, not {function!r}: write measure(f, x), not measure(f(x))"
        )
    label = name or named(function)
    payload = pickled(function, args, label)
    paths = (
        a
        for a in args
        if isinstance(a, str | os.PathLike) and len(str(a)) < 4096 and os.path.exists(a)
    )
    machine = here(next(paths, None))  # the first path tells which file system was measured

    def once(options: Options, heap: bool = False, stack: tuple | None = None) -> Recording:
        before()
        return watched(label, payload, options, machine, heap, stack)

    run = once(options)
    more = options.limit and 4 * options.limit + 64 * MiB
    slow = replace(options, memory_limit=more, timeout=4 * options.timeout, inspect=None)
    alike = slow if run.ended in ENDED_BY_ITSELF else replace(options, inspect=None)
    try:
        if options.heap and alike is slow:
            traced = once(slow, heap=True)
            if traced.ended == run.ended:
                run = replace(run, heap_peak=traced.heap_peak, heap_left=traced.heap_left)
        if options.stack and not options.stop():
            ends = {}
            with tempfile.TemporaryDirectory() as folder:
                try:
                    each = (False, True) if alike is slow else (False,)
                    _trace_stacks(once, alike, folder, each, ends)
                finally:
                    run = replace(run, stack=stacks.told(Path(folder), ends))
    except KeyboardInterrupt as stop:
        stop.run = run
        raise
    return run


def _trace_stacks(
    once: Callable[..., Recording],
    options: Options,
    folder: str,
    each: Sequence[bool],
    ends: dict[bool, str],
) -> None:
    """Notes in `ends` how the run without small objects ended, and that with them."""
    limited = replace(options, stop=lambda: options.stop() or written_too_much(folder))
    for by_object in each:
        ends[by_object] = "interrupted"
        ends[by_object] = once(limited, stack=(folder, by_object)).ended
        at_once = os.path.exists(os.path.join(folder, "tracemalloc"))  # which tells both
        if at_once or ends[by_object] not in ENDED_BY_ITSELF:
            break


def written_too_much(folder: str) -> str | None:
    written = sum(file.stat().st_size for file in os.scandir(folder))
    return "traced too much" if written > MOST_TRACED else None


def compare(
    functions: Mapping[str, Callable],
    *args: Any,
    repeat: int = 1,
    before: Callable[..., Any] | None = None,
    check: Callable[..., bool] | None = None,
    **options: Any,
) -> Comparison:
    """Measures each function with the same arguments, one at a time: `compare({"read": f, "mmap":
    g}, path)`.

    Each of the `repeat` rounds goes through all functions, so a slow minute hits them all alike. A
    run whose peak was missed, as may happen on a busy machine, is done again, twice at most.
    `options` are those of `measure`. With `heap` or `stack`, each function is traced once.

    before  `before(*args)` is called here, unmeasured, before each run, traced runs too:
            `drop_from_cache` makes runs cold, reading the file makes them warm
    check   `check(*args)` is called here, unmeasured, after each run that returned; if it returns
            False, compare raises ValueError, because a wrong result isn't worth measuring
    """
    if not isinstance(functions, Mapping):
        kind = type(functions).__name__
        raise TypeError(
            f'compare takes a dict from name to function, {{"read": f, "mmap": g}}, not a {kind}'
        )
    chosen = _chosen(options, "compare", "repeat", "before", "check")
    if not functions or repeat < 1:
        raise ValueError(
            f"compare needs at least 1 function and 1 round, not {len(functions)} and "
            f"repeat={repeat!r}"
        )
    runs: dict[str, list[Recording]] = {name: [] for name in functions}
    prepare = partial(before, *args) if before else lambda: None
    with progress_bar(total=repeat * len(functions), unit="run") as bar:
        for _ in range(repeat):
            for name, function in functions.items():
                bar.set_description(name, refresh=False)
                first = not runs[name]
                how = replace(chosen, heap=chosen.heap and first, stack=chosen.stack and first)
                run = _seen(
                    partial(measured, function, args, how, name, prepare), lambda run: run.missed
                )
                if not first:
                    run = replace(run, **{found: getattr(runs[name][0], found) for found in TRACED})
                if check and run.ended == "returned" and not check(*args):
                    raise ValueError(f"{name} did not do its work: the check after its run failed")
                runs[name].append(run)
                bar.update()
    return Comparison(runs)


def together(
    functions: Mapping[str, Callable], before: Callable[[], Any] = lambda: None, **options: Any
) -> Comparison:
    """Calls functions that need each other, such as a server and its client, at once, each in a
    fresh process of its own. Returns when the last has ended.

    together({"server": partial(receive, folder, port), "client": partial(upload, path, address)},
    timeout=20)

    If the peak of one was missed, all run again, as in `compare`; `before()` is called here each
    time. Options and errors are those of `measure`. A function that waits for another that has
    failed waits for its timeout.
    """

    def once() -> dict[str, Recording]:
        before()
        with ThreadPoolExecutor(len(functions)) as pool:
            runs = {
                name: pool.submit(measure, call, name=name, **options)
                for name, call in functions.items()
            }
        return {name: run.result() for name, run in runs.items()}

    runs = _seen(once, lambda runs: any(run.missed for run in runs.values()))
    return Comparison({name: [run] for name, run in runs.items()})


def _seen(run: Callable[[], Any], missed: Callable[[Any], Any]) -> Any:
    """What `run()` returns, the last of several tries as long as it missed a peak."""
    for _ in range(TRIES):
        if not missed(seen := run()):
            break
    return seen


def imports_of_ours(tree: ast.AST) -> list[str]:
    """The modules of this package that the code imports, which aren't what is to be measured. If it
    imports `mark` and nothing else, that's the small module that has it.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(
                marks.__name__ if [name.name for name in node.names] == ["mark"] else node.module
            )
    return sorted(name for name in found if name.partition(".")[0] == __name__.partition(".")[0])


def watched(
    label: str,
    payload: bytes,
    options: Options,
    machine: Machine,
    heap: bool = False,
    stack: tuple | None = None,
) -> Recording:
    """Calls the function in a fresh process, and watches it from beginning to end.

    heap, stack  trace it: the heap by tracemalloc, and stacks, which files in a folder will tell
                 (see inside.Stacks)
    """
    with ExitStack() as at_end:
        if heap or stack:  # a traced run prints the same again
            printed = at_end.enter_context(tempfile.TemporaryFile())
        elif (printed := options.printed) is None:
            printed = at_end.enter_context(shown())
        asked = {"asked": options.stop, "objects": options.objects}
        child = spawn(label, printed, LARGEST_RESULT, options.command, **asked)
        child = at_end.enter_context(child)
        how = {name: getattr(options, name) for name in ("modules", "calls", "warm")}
        child.send(payload, **how, heap=heap, stack=stack)
        child.greet(label, options.timeout if options.warm else 0)
        memory = sampler.choose()(child.mail.pid, child.watch and child.process.pid)
        at_end.callback(memory.close)
        check_interval(options.interval, memory)
        base = memory.read(thorough=True)
        if base is None:
            raise child.not_loaded(label)
        watch = Watch(child, memory, base, options, time.perf_counter())
        try:
            child.allow(b"call")
            watch.sample(child.mail.done.wait, watch.samples)
            watch.saw_end = time.perf_counter()
            if child.mail.done.is_set() and not child.stopped:
                watch.last = memory.read(thorough=True)  # its result is still there
                if options.inspect and watch.last:
                    watch.look(options.inspect)
                child.allow(b"report")
                watch.sample(child.mail.report.wait, watch.later, LARGEST_RESULT)
            if not child.stopped:
                child.allow(b"end")
                end = time.perf_counter() + GRACE_S
                watch.sample(watch.has_ended, watch.later, LARGEST_RESULT, end)
                child.leave(end)
        except KeyboardInterrupt as stop:
            child.stop("interrupted")
            stop.run = recording(watch, machine)
            raise
    return recording(watch, machine)


def check_interval(interval: float, memory: sampler.Sampler) -> None:
    pauses = iter((0.01, 0.1, 0.5))  # a busy machine may be slow for a moment
    while interval < (least := 4 * sampler.cost(memory)):
        if (pause := next(pauses, None)) is None:
            least = f"{max(0.001, 2 * least):.3g} or more"
            raise ValueError(
                f"interval={interval!r} s is below what this machine can do; use {least}"
            )
        time.sleep(pause)


@dataclass
class Watch:
    """What was seen of a child: `base` before the call, `samples` until the function had returned,
    `last` while its result was still there, and `later` ones.
    """

    child: Child
    memory: sampler.Sampler
    base: Sample
    options: Options
    began: float
    saw_end: float | None = None
    last: Sample | None = None
    samples: Samples = field(default_factory=list)
    later: Samples = field(default_factory=list)

    def sample(
        self,
        over: Callable[[float], bool],
        into: Samples,
        allowance: int = 0,
        grace: float | None = None,
    ) -> None:
        """Samples until `over`, which does the waiting, says so; or the process has ended; or it is
        stopped. Only until `grace`, if that's given: then nothing is stopped for it.
        """
        child = self.child
        limit = self.options.limit
        due = time.perf_counter()
        end = grace or self.began + self.options.timeout
        while not child.stopped:
            now = time.perf_counter()
            if now >= due:
                sample = self.memory.read()
                if sample is None:
                    break
                into.append((now, sample))
                took = time.perf_counter() - now
                due = max(due + self.options.interval, now + took + min(2 * took, LONGEST_PAUSE_S))
                if limit is not None and self.own(sample) > limit + allowance:
                    child.stop("memory limit")
            elif not child.alive():
                break
            if now > end:
                child.stop(None if grace else "timed out")
                break
            child.keep_to_limits()
            pause = min(due, end, now + LONGEST_WAIT_S) - time.perf_counter()
            if not child.stopped and over(max(0, pause)):
                break

    def has_ended(self, seconds: float) -> bool:
        time.sleep(seconds)
        return not self.child.alive()

    def look(self, inspect: Callable[[int], None]) -> None:
        pool = ThreadPoolExecutor(1)  # so that the limits hold meanwhile
        looked = pool.submit(inspect, self.child.mail.pid)
        pool.shutdown(wait=False)
        self.sample(lambda seconds: wait([looked], seconds).done, self.later)
        try:
            if not self.child.stopped:
                looked.result()
        except OSError:  # as /proc answers about a process that ends meanwhile: then that counts
            self.child.leave()
            if self.child.alive():
                raise

    def own(self, sample: Sample) -> int:
        """Growth that only swap could take: anonymous and shared, or all of resident where kinds
        are unknown.
        """
        if sample.anonymous is None:
            return sample.resident - self.base.resident
        return sample.anonymous + sample.shared - self.base.anonymous - self.base.shared


def recording(watch: Watch, machine: Machine) -> Recording:
    """What counts is what this process saw. The child's clock may only make that more exact.
    Growth after the function has returned counts only where it is more than sending the result
    takes.
    """
    child = watch.child
    base = watch.base
    saw_end = watch.saw_end or time.perf_counter()
    message = child.mail.message
    began = min(max(message.get("began", 0), watch.began), saw_end)
    finished = min(max(message.get("finished", saw_end), began), saw_end)
    samples = [(min(max(t, began), finished), s) for t, s in watch.samples]
    if watch.last:
        most = watch.own(watch.last) + len(child.mail.value) + SENDING
        samples += [(finished, s) for _, s in watch.later if watch.own(s) > most]
        samples.append((finished, watch.last))
    samples = samples or [(began, base)]
    kinds = [kind for kind in KINDS if getattr(base, kind) is not None]
    growth = {
        k: np.array([getattr(s, k) - getattr(base, k) for _, s in samples], np.int64) for k in kinds
    }
    virtual = [s.virtual - base.virtual for _, s in samples if s.virtual is not None]
    count = message.get("counters", {}).get
    value, refused = child.value
    told = ("high_water", "heap_peak", "heap_left", "imported")
    return Recording(
        name=child.name,
        machine=machine,
        times=np.round([t - began for t, _ in samples], 6),
        **growth,
        faults=Faults(count("minor"), count("major")),
        switches=Switches(count("voluntary"), count("involuntary")),
        io=IO(*map(count, ("syscr", "syscw", "rchar", "wchar", "read_bytes", "write_bytes"))),
        wall=round(finished - began, 6),
        user=count("user"),
        system=count("system"),
        value=value,
        **{name: message.get(name) for name in told},
        imports=tuple(message.get("imports", ())),
        marks=tuple(
            Mark(name, at, *sizes, read_bytes=read, call=call)
            for name, at, call, read, *sizes in message.get("marks", ())
        ),
        marked=message.get("marked", 0),
        virtual_peak=max(0, *virtual) if virtual else None,
        ended=child.ended,
        error=child.error or refused,
        unseen=watch.memory.unseen,
    )
