"""`make grade`: judges what was handed in, each answer in a sandbox, and writes gradebook, feedback and report.

Every verdict is kept the moment it is known, so the grader may be killed and started again. What it finds again, with
the same notebook and the same check, is not judged twice.
"""

import argparse
import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from tqdm.auto import tqdm

from ..folders import ROOT
from ..teach.exercise_files import keys
from ..teach.exercises import exercise
from ..teach.words import short
from . import judge, sandbox
from .course import GRADES, BadCourse, Course, course, path_of
from .course_of_nbgrader import NotReady, put_scores
from .grades import strays
from .outputs import write_all
from .store import HandIn, Row, Store, store
from .submissions import CannotBeGraded, Found, found

AT_ONCE = 2  # notebooks, unless a check measures time
PATIENCE = 300.0  # seconds for one answer; a check's own limits are far below
TOO_SLOW = ("still-running", "not-at-once")  # causes that may be another answer's doing, if it runs beside this one
TOO_LONG = f"its cells cannot be taken apart within {judge.SECONDS} s"


class Refused(Exception):
    """Why nothing was graded, and what would help."""


def grade(
    collected: Path,
    folder: Path,
    *,
    trusted: bool = False,
    nbgrader: Path | None = None,
    timeout: float = judge.TIMEOUT,
) -> list[str]:
    """Grades what was collected into `folder`, and returns what there is to say: what was written, a line each.

    trusted   without a sandbox: the students' code runs with the rights of who calls this
    nbgrader  the course whose gradebook gets the scores, too
    timeout   seconds for a student's function

    Refused where there can be no sandbox, or another grader works in that folder; BadCourse for what is wrong in the
    teacher's files there; NotReady for what is wrong with nbgrader's course, when all else has been written.
    """
    if not trusted and (why := sandbox.why_not()):
        raise Refused(f"{why}.\nTRUST=yes grades without a sandbox; the students' code then runs with your rights.")
    about = course(folder)
    try:
        with store(folder) as known:
            together, alone = _to_do(known, list(_handed_in(known, collected, about)), trusted)
            size = sum(len(exercises) for _, exercises in (*together, *alone))
            with tqdm(total=size, desc="judging", unit="answer", delay=2, disable=None) as bar:
                how = partial(_judge, known, trusted=trusted, timeout=timeout, done=bar.update)
                how(together, at_once=AT_ONCE)
                again, _ = _to_do(known, [one for one, _ in together], trusted)
                bar.total += sum(len(exercises) for _, exercises in again)
                how([*alone, *again], at_once=1)
            written = write_all(known, about, folder, trusted=trusted)
            said = [str(written[0]), str(written[-1]), *strays(known, about)]
            return [*said, str(put_scores(nbgrader, known, about))] if nbgrader else said
    except BlockingIOError as error:
        raise Refused(str(error)) from None


Work = tuple[Found, tuple[str, ...]]  # a notebook, and the exercises to judge in it


def _handed_in(known: Store, collected: Path, about: Course) -> Iterator[Found]:
    """All that was handed in, kept in the store; what can be graded of it."""
    with tqdm(desc="reading what was handed in", unit="notebook", delay=2, disable=None) as bar:
        for one in found(collected, about):
            known.keep(one.student, one.hand_in)
            bar.update()
            if not one.hand_in.why_not:
                yield one


def _to_do(known: Store, handed_in: Iterable[Found], trusted: bool) -> tuple[list[Work], list[Work]]:
    """What has no verdict yet: what may be judged beside something else, and what may not."""
    rows = {(row.student, row.exercise): row for row in known.rows()}
    together, alone = [], []
    for one in handed_in:
        mine, key = one.hand_in, one.student.key
        wanted = [name for name in keys() if name.startswith(f"{mine.lesson}.")]
        open_ones = [name for name in wanted if not _is_final(rows.get((key, name)), mine, trusted)]
        for into, kind in ((together, False), (alone, True)):
            if mine_now := tuple(name for name in open_ones if runs_alone(name) is kind):
                into.append((one, mine_now))
    return together, alone


def _is_final(row: Row | None, handed_in: HandIn, trusted: bool) -> bool:
    """Is this the verdict on what was handed in, by the check as it is, and not one that a full disk prevented?"""
    by = (handed_in.digest, row and check(row.exercise), trusted)
    return row is not None and (row.digest, row.check, row.trusted) == by and row.cause != judge.NOT_CHECKED


@cache
def check(key: str) -> str:
    return judge.check_hash(exercise(key))


@cache
def runs_alone(key: str) -> bool:
    return exercise(key).alone


def _judge(
    known: Store, work: Sequence[Work], *, trusted: bool, timeout: float, at_once: int, done: Callable[[], object]
) -> None:
    """Every answer, `at_once` notebooks at a time. A verdict is kept when it comes, by this thread alone."""
    rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(at_once) as pool, _Judges(trusted, timeout, at_once == 1, rows.put) as judges:
        futures = [pool.submit(judges.judge, *one) for one in work]
        for future in futures:
            future.add_done_callback(lambda _: rows.put(None))
        left = len(futures)
        while left:
            row = rows.get()
            if row is None:
                left -= 1
            else:
                known.keep(row)
                done()
        for future in futures:
            future.result()  # raises what went wrong there


class _Judges:
    """Processes that judge, a notebook each. They end with the block, whatever ends that.

    alone  one after another: what is slow then is slow by itself
    """

    def __init__(self, trusted: bool, timeout: float, alone: bool, put: Callable[[Row], None]):
        self.trusted, self.timeout, self.alone, self.put = trusted, timeout, alone, put
        self.running: set[subprocess.Popen] = set()
        self.over = False

    def __enter__(self) -> "_Judges":
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        for process in list(self.running):
            process.kill()

    def judge(self, one: Found, exercises: Sequence[str]) -> None:
        """The verdict on each of these answers. One that ends its judge is not graded, and the others go on."""
        left = list(exercises)

        def put(exercise: str, **said) -> None:
            left.remove(exercise)
            by = check(exercise) if self.alone or said.get("cause") not in TOO_SLOW else ""  # "": it is asked again
            self.put(Row(one.student.key, exercise, **said, digest=one.hand_in.digest, check=by, trusted=self.trusted))

        try:
            notebook = one.notebook()
        except CannotBeGraded as error:
            for name in exercises:
                put(name, outcome="not graded", because=str(error))
        while left and not self.over:
            why = self._ask(notebook, one.hand_in.commit, left, put)
            if left and not self.over:
                put(left[0], outcome="not graded", because=why, cause="judge-ended")

    def _ask(self, notebook: bytes, commit: str, exercises: Sequence[str], put: Callable[..., None]) -> str:
        """Starts a judge and passes its verdicts on. Why there are no more: for when there should be."""
        asked = {"exercises": list(exercises), "commit": commit, "trusted": self.trusted, "timeout": self.timeout}
        command = [sys.executable, "-m", "helpers.classroom.judge"]
        with (
            tempfile.TemporaryFile() as complaints,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                cwd=ROOT,
                start_new_session=True,
            ) as process,
        ):
            self.running.add(process)
            try:
                with suppress(BrokenPipeError), process.stdin as inbox:
                    inbox.write(json.dumps(asked).encode() + b"\n" + notebook)
                while line := self._line(process):
                    put(**_verdict(json.loads(line)))
            finally:
                self.running.discard(process)
                process.kill()
            complaints.seek(0)
            last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
        ended = how_it_ended(process.returncode)
        if ended == "SIGPROF":
            for name in list(exercises):
                put(name, outcome="not graded", because=TOO_LONG, cause="judge-ended")
        return short(f"its judge ended before it had a verdict ({', '.join((*last, ended))})", 400)

    def _line(self, process: subprocess.Popen) -> bytes:
        """The next one, within PATIENCE; nothing if it ends, or takes longer and is killed."""
        clock = threading.Timer(PATIENCE, process.kill)
        clock.start()
        try:
            return process.stdout.readline()
        finally:
            clock.cancel()


def _verdict(said: dict) -> dict:
    return said | {"figures": tuple(said.get("figures", ()))}


def how_it_ended(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 where nothing was graded."""
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom.grade", description="Grade what was handed in.")
    parser.add_argument("collected", type=path_of, nargs="?", help="a folder or a zip, as Moodle or Canvas make it")
    parser.add_argument("--out", type=path_of, help=f"where the grades go ({GRADES}, or grades/ in nbgrader's course)")
    parser.add_argument("--trust", action="store_true", help="without a sandbox: students' code runs with your rights")
    parser.add_argument(
        "--nbgrader", type=path_of, metavar="COURSE", help="grade what it collected; it gets the scores"
    )
    parser.add_argument(
        "--timeout", type=float, default=judge.TIMEOUT, help="seconds for a student's function (%(default).0f)"
    )
    options = parser.parse_args(arguments)
    collected, its_grades = options.collected or options.nbgrader, options.nbgrader and options.nbgrader / "grades"
    if not collected:
        parser.error("say what to grade: a folder or a zip (make grade FROM=…), or a course of nbgrader (NBGRADER=…)")
    try:
        out = options.out or its_grades or GRADES
        said = grade(collected, out, trusted=options.trust, nbgrader=options.nbgrader, timeout=options.timeout)
        print(*said, sep="\n")
    except NotReady as error:
        print(f"Graded, but nbgrader's gradebook was left as it was. {error}", file=sys.stderr)
        return 1
    except (Refused, BadCourse, OSError, ValueError) as error:
        print(f"Nothing was graded. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
