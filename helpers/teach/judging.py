"""What an exercise's check.py works with: the attempt that it judges, the verdict, and what several
judges ask. A judge returns `right(…)` or `within(…)`, or raises NotYet with a cause, its short name
for the slip.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Literal

from .. import folders
from ..make.files import is_random_file, random_file
from ..measure import Recording, Sharing, cache, maps, sampler
from ..measure.run import Options, measured
from ..measure.workers import at_work
from ..safe_files import check_free_space, regular_file
from ..units import MiB, in_unit, in_words
from . import inside
from .source import Source
from .words import badge, inline, plain, short

Outcome = Literal["not attempted", "not yet", "right"]
LEADS = {"not attempted": "Not attempted yet.", "not yet": "Not yet:", "right": "Right."}
A_LINE = 4  # measurements that read well in one line; more are listed
CRASH = "a crash"
CRASHED = ("SIGSEGV", "SIGBUS")  # which signal the same mistake gives depends on the system
HID = (  # how a run ended that a sandbox stopped because its folder can't be read
    "hid what it wrote"
)
READABLE = (
    "Leave files and folders where the check finds them, and readable: mode 644 for a file, 755 "
    "for a folder."
)
BARRED = (
    errno.EACCES,
    errno.EPERM,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENXIO,
    errno.EAGAIN,
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a check found."""

    outcome: Outcome
    because: str
    figures: tuple[str, ...] = ()  # measurements as text
    recording: Recording | None = field(default=None, repr=False)  # for those who want to know more
    # what the judge calls the slip, "too-much-memory"; "" for an answer that is right or not
    # attempted
    cause: str = ""
    # which of the two things that were asked for is right all the same: "the bytes"; "" if none is
    half: str = ""
    judged: str = ""  # "`copy_small` of cell [12]", if that isn't the cell that checks it

    def __repr__(self) -> str:
        measured = f"\nMeasured: {' · '.join(self.figures)}" if self.figures else ""
        judged = f"\nJudged: {plain(self.judged)}" if self.judged else ""
        return f"{LEADS[self.outcome]} {plain(self.because)}{measured}{judged}"

    def _repr_html_(self) -> str:
        text = f"<p>{badge(self.outcome, LEADS[self.outcome])} {inline(self.because)}</p>"
        if len(self.figures) > A_LINE:
            items = "".join(f"<li>{escape(figure)}</li>" for figure in self.figures)
            measured = f"<p>Measured:</p><ul>{items}</ul>"
        else:
            measured = (
                f"<p>Measured: {escape(' · '.join(self.figures))}</p>" if self.figures else ""
            )
        judged = f"<p>Judged: {inline(self.judged)}</p>" if self.judged else ""
        return (
            f'<div class="zc-verdict" data-outcome="{self.outcome}">{text}{measured}{judged}</div>'
        )


class NotYet(Exception):
    """The answer isn't right yet: `because` explains it to the student; for `cause` and `half` see
    Verdict.
    """

    def __init__(self, cause: str, because: str, figures: tuple[str, ...] = (), half: str = ""):
        super().__init__(because)
        self.cause, self.because, self.figures, self.half = cause, because, figures, half

    @property
    def verdict(self) -> Verdict:
        half = f" Half of it is right: {self.half}." if self.half else ""
        return Verdict(
            "not yet", self.because + half, self.figures, cause=self.cause, half=self.half
        )


def right(because: str, figures: tuple[str, ...] = ()) -> Verdict:
    return Verdict("right", because, figures)


@dataclass(frozen=True)
class Fence:
    """How an untrusted function is sandboxed: the `command` that starts its process, given the
    paths that it may have besides its folder, and `stop` of `Options`. By default it isn't: at
    home, students run their own code.
    """

    command: Callable[..., tuple[str, ...]] = lambda *shared: ()
    stop: Callable[[], str | None] = lambda: None


@dataclass(eq=False)
class Attempt:
    """What a judge is given."""

    source: Source  # the student's function
    size: int  # bytes of data
    timeout: float
    folder: Path  # for the student
    own: Path | None = None  # the judge's folder, where the student's code writes nothing
    fence: Fence = Fence()
    recording: Recording | None = None  # of the last run, for the verdict
    ran: bool = False  # has the last run come to its end?
    _handed_out: dict[Path, "_HandedOut"] = field(default_factory=dict)

    def run(
        self,
        runner: Callable,
        *args: Any,
        means: Mapping[str, tuple[str, str]] | None = None,
        **options: Any,
    ) -> Recording:
        """`measure`, for a run that must return and leave what was handed out unharmed: NotYet says
        what was wrong. `means`: cause and text for endings that tell more here, by a piece of the
        error's text, or CRASH.
        """
        run = self.measure(runner, *args, **options)
        for end, (cause, why) in (means or {}).items():
            if (run.ended in CRASHED) if end == CRASH else (end in (run.error or "")):
                raise NotYet(cause, why)
        self.returned(run)
        self.unharmed()
        return run

    def measure(
        self,
        runner: Callable,
        *args: Any,
        memory_limit: int,
        modules: Sequence[str] = (),
        look: Callable[[int], None] | None = None,
        shared: Sequence[Path] = (),
    ) -> Recording:
        """Runs `runner(function, *args)` in a fresh process with the limits set, however it ends.
        What the student's source imports is loaded before anything is measured, and so are
        `modules`. `look` is called with the process's pid when the function has returned, before
        what it returned is sent; it opens files with `regular_file`, which never waits. `shared`:
        what the function may open besides its folder.
        """
        how = self._how(
            modules,
            shared,
            memory_limit=memory_limit,
            inspect=look,
            heap=not kinds_are_told_apart(),
        )
        run = measured(self.started(runner), args, how, self.source.name)
        self.ran = True
        self.recording = replace(
            run, error=(run.error or "").replace(f"{self.folder}{os.sep}", "") or None
        )
        return self.recording

    def workers(
        self, runner: Callable, *args: Any, count: int, modules: Sequence[str] = ()
    ) -> Sharing:
        """`workers`, with `runner(function, *args)` in each. Raises NotYet if what was handed out
        has changed.
        """
        crowd = at_work(self.started(runner), args, count, self._how(modules))
        self.ran = True
        self.unharmed()
        return crowd

    def _how(self, modules: Sequence[str], shared: Sequence[Path] = (), **more: Any) -> Options:
        modules = (*modules, *self.source.modules)
        command = self.fence.command(*shared)
        self.ran = False
        return Options(
            timeout=self.timeout, modules=modules, command=command, stop=self.fence.stop, **more
        )

    def started(self, runner: Callable) -> Callable:
        """`runner(function, …)` as a function of the rest, which makes the student's function in a
        fresh process.
        """
        made = self.source
        return partial(inside.started, made.name, made.steps, dict(made.texts), runner)

    def note_return(self, pid: int) -> None:
        """A `look`, where the student's code can't touch what it notes."""
        (self.own / "returned").touch()

    def is_late(self, file: Path) -> bool:
        """Has the file changed after `note_return`? Where a second run measures the heap, that
        wrote it anew.
        """
        if not kinds_are_told_apart():
            return False
        if not (noted := self.own / "returned").exists():
            raise NotYet(
                "unseen",
                "its process had ended before the check could see that the file was complete.",
            )
        return changed(file) > changed(noted)

    def random_file(self, name: str = "source.bin", size: int | None = None) -> Path:
        """A new file of random bytes in the student's folder, handed out. By default its size is
        about the check's, and no chunk's multiple. OSError if the disk has no room for it, a copy,
        and its twin.
        """
        size = self.size + 1 + secrets.randbelow(MiB - 1) if size is None else size
        check_free_space(self.folder, 3 * size, "it")
        seed = secrets.randbelow(2**32)
        path = random_file(self.folder / name, size, seed=seed)
        self._handed_out[path] = _HandedOut(path.stat().st_mode, size, seed=seed)
        return path

    def twin(self, path: Path) -> Path:
        """A file with the bytes that a `random_file` was handed out with: itself, or another in the
        judge's folder.
        """
        made = self._handed_out[path]
        return (
            path
            if made.is_still(path)
            else random_file(self.own / path.name, made.size, seed=made.seed)
        )

    def hand_out(self, path: Path) -> None:
        """From now on, a run that changes this file, or any file in this folder, raises NotYet."""
        for file in filter(Path.is_file, (path, *path.rglob("*"))):
            self._handed_out[file] = _HandedOut(
                file.stat().st_mode, file.stat().st_size, digest(file)
            )

    def unharmed(self) -> None:
        """Raises NotYet("source-gone") or NotYet("source-changed") if a file that was handed out
        isn't as it was.
        """
        for path, made in self._handed_out.items():
            name = "the file you were given" if len(self._handed_out) == 1 else f"`{path.name}`"
            now = None
            with suppress(FileNotFoundError, NotADirectoryError):
                now = path.lstat()
            if not now or not stat.S_ISREG(now.st_mode):
                instead = ", and something else lies in its place" if now else ""
                raise NotYet(
                    "source-gone", f"{name} is gone{instead}. It must still be there, unchanged."
                )
            if now.st_mode != made.mode:
                why = (
                    f"the mode of {name} was changed, from {made.mode & 0o7777:o} to "
                    f"{now.st_mode & 0o7777:o}."
                )
                raise NotYet("source-changed", why)
            if not made.is_still(path):
                at = None if made.seed is None else first_difference(path, self.twin(path))
                where = "" if at is None else f", first at byte {at:,}"
                raise NotYet("source-changed", f"{name} was changed{where}. Open it read-only.")

    def returned(self, run: Recording) -> Recording:
        """`run`, if the function returned; otherwise raises NotYet, which says what stopped it."""
        if run.ended == "returned":
            if run.unseen:
                raise NotYet(
                    "unseen", f"the check can't tell how much memory it took: {run.unseen}."
                )
            if not run.error:
                return run
            raise NotYet(
                "not-sent", f"what it returned can't be looked at: {short(run.error, 400)}"
            )
        if run.ended == "timed out":
            why = f"it was still running after {self.timeout:.0f} s and was stopped."
            raise NotYet("still-running", f"{why} What should end it, or what makes it so slow?")
        if run.ended == "memory limit":
            taken = in_words(own_memory(run), "bytes")
            raise NotYet(
                "memory-limit", f"it was stopped when it had taken {taken} of memory for itself."
            )
        where = self._where(run.error or "")
        if run.ended == HID or (
            run.ending.startswith("raised PermissionError") and where.startswith(", when")
        ):
            raise NotYet("unreadable", f"the check can't read what your function left. {READABLE}")
        if run.ended != "raised":
            where = "in your function or while the check looked at what it returned"
            raise NotYet("crashed", f"its process ended ({run.ended}), {where}.")
        if "File too large" in (run.error or ""):
            why = (
                "it kept writing, far past the size of the source, and was stopped. What ends your "
                "loop?"
            )
            raise NotYet("endless-file", why)
        raise NotYet("raised", f"it {short(run.ending, 400)}{where}")

    def _where(self, trace: str) -> str:
        """The student's own line that raised it; or else the line of the check that looked at the
        result.
        """
        frames = [
            (name, int(line))
            for name, line in re.findall(r'File "(.*)", line (\d+), in', trace[-MiB:])
        ]
        if lines := [(line, name) for name, line in frames if name in self.source.texts]:
            text = short(self.source.line(*lines[-1]), 200)
            return f", in line {lines[-1][0]}{f': `{text}`' if text else ''}"
        if re.search(
            rf"(?m)^TypeError: {self.source.name}\(\) (takes|missing|got) .*\Z", trace.strip()
        ):
            return ", when the check called it. Which arguments does the exercise name?"
        looked = [line for name, line in frames if Path(name).name == "check.py"]
        return (
            f", when the check looked at what it returned (check.py, line {looked[-1]})"
            if looked
            else ""
        )


@dataclass(frozen=True)
class _HandedOut:
    """What a file was when the student got it: a digest tells whether it's still that, or the seed
    of a random file.
    """

    mode: int
    size: int
    digest: bytes = b""
    seed: int | None = None

    def is_still(self, path: Path) -> bool:
        now = path.lstat()
        if not stat.S_ISREG(now.st_mode) or now.st_size != self.size:
            return False
        return (
            digest(path) == self.digest
            if self.seed is None
            else is_random_file(path, self.size, self.seed)
        )


def kinds_are_told_apart() -> bool:
    """Can this machine measure anonymous, file-backed and shared memory separately?"""
    return sampler.choose() is not sampler.Portable


def own_memory(run: Recording) -> int | None:
    """Peak bytes of anonymous and shared memory together: what only this process can give back.
    Where kinds can't be told apart it's None; for a run stopped at its memory limit, all that is
    resident.
    """
    if run.anonymous is None:
        return run.peak.resident if run.ended == "memory limit" else None
    return max(0, int((run.anonymous + run.shared).max(initial=0)))


def within(run: Recording, budget: int, done: str, half: str = "") -> Verdict:
    """The last question: did it stay within `budget` bytes of its own memory? `done` says what was
    right so far. NotYet("too-much-memory") if it didn't. Where kinds of memory can't be told apart,
    the heap counter stands in.
    """
    own = own_memory(run)
    limit = in_words(budget, "bytes")
    sizes = {
        f"anonymous at its peak (budget {limit})": own,
        "file-backed": run.peak.file,
        "on the heap": run.heap_peak,
    }
    figures = [
        f"{in_words(size, 'bytes')} {what}" for what, size in sizes.items() if size is not None
    ]
    if run.io.read_calls is not None:
        figures.append(in_unit(run.io.read_calls + run.io.write_calls, "calls"))
    figures = (*figures, in_words(run.wall, "seconds"))
    kind = "anonymous and shared memory" if run.peak.shared else "anonymous memory"
    kind, peak = (kind, own) if own is not None else ("memory on the heap", run.heap_peak)
    if (peak or 0) > budget:
        took = (
            f"your function took {in_words(peak, 'bytes')} of {kind} at its peak; the budget is "
            f"{limit}"
        )
        raise NotYet("too-much-memory", f"{done[0].lower()}{done[1:]}, but {took}.", figures, half)
    if own is not None:
        return right(f"{done}. Your function stayed within {limit} of {kind}.", figures)
    counted = (
        f"the heap alone stayed within {limit}"
        if peak is not None
        else "so the budget wasn't checked"
    )
    return right(f"{done}. Anonymous memory isn't measured here; {counted}.", figures)


def opened(path: Path) -> AbstractContextManager[BinaryIO]:
    """A file that the student's code made, open for reading. NotYet if there is none, or a folder,
    a pipe or a link.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise NotYet("no-file", f"there is no file `{path.name}`.") from None
    regular = stat.S_ISREG(status.st_mode)
    if stat.S_ISLNK(status.st_mode) or (regular and status.st_nlink > 1):
        raise NotYet(
            "link",
            f"`{path.name}` is only another name for some other file (a link), not a file of its "
            "own.",
        )
    if not regular:
        raise NotYet("no-file", f"`{path.name}` isn't a file: it's a folder, a pipe or a device.")
    return regular_file(path, links=False)


@contextmanager
def must_be_readable(folder: Path) -> Iterator[None]:
    """Raises NotYet("unreadable") about what can't be read in `folder` without waiting, or about a
    process in /proc: only the student's code can have left it so, as with a lease, fcntl(2), or
    PR_SET_DUMPABLE, prctl(2).
    """
    try:
        yield
    except OSError as error:
        path = Path(str(error.filename))
        theirs = path.is_relative_to(folder) or path.is_relative_to("/proc")
        if error.errno not in BARRED or not theirs or not folder.exists():
            raise
        raise NotYet(
            "unreadable", f"the check can't read `{path.name}`: {error.strerror}. {READABLE}"
        ) from None


def held(pid: int, folder: Path) -> set[str]:
    """What a process has of a folder's files, even deleted: "mapped", "open"; proc_pid_maps(5),
    proc_pid_fd(5).
    """
    if maps.why_not():
        return set()
    below = f"{folder.resolve()}{os.sep}"
    links = [link for link in Path(f"/proc/{pid}/fd").iterdir() if os.path.islink(link)]
    paths_by_use = {
        "mapped": [region.path for region in maps.regions(pid)],
        "open": map(os.readlink, links),
    }
    return {
        how for how, paths in paths_by_use.items() if any(path.startswith(below) for path in paths)
    }


def changed(file: Path) -> int:
    """When the file last changed: the ctime, which nobody can set, inode(7); on Windows, which has
    none, the mtime.
    """
    return max(file.lstat().st_ctime_ns, file.lstat().st_mtime_ns)


def names_in(folder: Path) -> list[str]:
    """The names in a folder that the student's code could exchange: OSError if it's a link, which
    may lead anywhere.
    """
    if os.name == "nt":  # which can't open a folder
        return sorted(os.listdir(folder))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)


def digest(path: Path) -> bytes:
    with regular_file(path, links=False) as file:
        return hashlib.file_digest(file, "blake2b").digest()


def is_cold(path: Path) -> bool:
    """Drops a file from the page cache; did it work?"""
    cached = cache.drop_from_cache(path).share
    return cached is not None and cached < 0.01


def first_difference(path: Path, other: Path) -> int | None:
    """The first byte at which two files differ, or one of them ends; None if they're equal. NotYet
    as by `opened`.
    """
    with opened(path) as first, opened(other) as second:
        for at in count(step=MiB):
            a = first.read(MiB)
            b = second.read(MiB)
            if a != b:
                least = min(len(a), len(b))
                return at + next((i for i in range(least) if a[i] != b[i]), least)
            if not a:
                return None


def right_for_each(
    attempt: Attempt,
    cases: Mapping[str, tuple],
    fault: Callable[..., None],
    who: str,
    does: Mapping[str, str],
    done: str,
    figures: tuple[str, ...] = (),
    expected: Mapping[str, Any] | None = None,
) -> Verdict:
    """Asks the student's function about each case (kind -> its arguments, which travel by value),
    all in one fresh process and in random order; `done` is said if all answers are right. The first
    fault is raised, as "for `who` `does[kind]`: …", with its `half` if all faults have the same:
    nobody guesses it in every case.

    fault(answer, *arguments), or with `expected` fault(answer, expected[kind], *arguments), raises
    NotYet if the answer is wrong; an answer is None, a tuple or list of up to 8 numbers and texts,
    or else its repr.
    """
    kinds = secrets.SystemRandom().sample(list(cases), len(cases))
    run = attempt.run(inside.answers, [cases[kind] for kind in kinds], memory_limit=256 * MiB)
    said = dict(zip(kinds, run.value, strict=True))
    slips = []
    for kind, case in cases.items():
        try:
            fault(said[kind], *((expected[kind],) if expected else ()), *case)
        except NotYet as slip:
            slips.append(
                NotYet(slip.cause, f"for {who} {does[kind]}: {slip.because}", half=slip.half)
            )
    if slips:
        raise first_of(slips)
    return right(done, figures)


def first_of(slips: Sequence[NotYet]) -> NotYet:
    """The first slip, with its `half` only if all slips have the same."""
    slips[0].half = slips[0].half if len({slip.half for slip in slips}) == 1 else ""
    return slips[0]


def called(kind: str) -> str:
    """What a message calls a value of the type of that name: "nothing" for None."""
    return (
        "nothing"
        if kind == "NoneType"
        else "an instance of " * kind.startswith("class ") + f"`{kind}`"
    )


def is_a_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 2.0**1000  # excludes nan and inf


def on_a_file(answer: Callable[[Path], int | None]) -> Callable[[], int | None]:
    """A quiz's answer that needs a small file, which exists while the answer is found."""

    @wraps(answer)
    def found() -> int | None:
        with tempfile.TemporaryDirectory(prefix="quiz-", dir=folders.generated()) as folder:
            return answer(random_file(Path(folder) / "quiz.bin", 16 * MiB))

    return found
