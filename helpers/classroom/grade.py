"""`make grade` judges each answer that was handed in, in a sandbox, and writes the gradebook,
feedback and report. You can kill it and start it again: it keeps each verdict at once, and judges
no answer twice unless the notebook or its check has changed.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..folders import GRADES, ROOT
from ..teach.exercises import exercise
from ..teach.words import short
from . import judge, sandbox
from .course import course, path_of
from .course_of_nbgrader import NotReady
from .grades import grades, of_lesson
from .outputs import write_all
from .platforms.nbgrader import SUBMITTED
from .platforms.nbgrader import write as put_into_nbgrader
from .reading import CannotBeGraded, File, for_one
from .report import summary
from .store import Answer, Store, Verdict, store
from .submissions import Submission, of_one_lesson, submissions

AT_ONCE = 2  # notebooks, unless a check measures time
TIMEOUT_S = 300.0  # for one answer; a check's own limits are far below
PROGRESS_S = 10.0  # between signs of life
# causes that another answer, running beside this one, may be to blame for, as for an error of the
# system: some of its limits are the user's, whatever the sandbox
TOO_SLOW = ("still-running", "not-at-once")
REFUSED = "[Errno "
TOO_LONG = f"its cells could not be read within {judge.READ_TIME_S} s"
PART = (
    "If it's one student's, put it into a folder, named after that student, and grade the folder "
    "around it; if it's a part of the class's, unpack it, and grade what it holds"
)
Work = tuple[Submission, tuple[str, ...]]  # a submission, and the exercises to judge in it
check = cache(lambda key: judge.check_hash(exercise(key)))  # of an exercise
runs_alone = cache(lambda key: exercise(key).alone)


def grade(
    collected: Path,
    out: Path,
    *,
    trusted: bool = False,
    nbgrader: Path | None = None,
    timeout: float = judge.TIMEOUT,
) -> None:
    """Grades the collected work, in a sandbox unless `trusted`, with `timeout` seconds for a
    student's function. Writes the results into `out` and the scores into the gradebook of an
    `nbgrader` course, and prints what came of it. Raises CannotBeGraded if there can be no sandbox;
    BlockingIOError if another grader works in that folder; ValueError for an error in the teacher's
    files; NotReady, after all else is written, if nbgrader's course isn't ready.
    """
    if not trusted and (reason := sandbox.unavailable_reason()):
        raise CannotBeGraded(
            f"{reason}.\nTRUST=yes grades without a sandbox: students' code then has your rights."
        )
    about = course(out)
    line = "judged {n_fmt} of {total_fmt} answers, {remaining} left"
    with store(out) as records:
        read = {
            "iterable": submissions(collected, about.students.values()),
            "desc": "reading the submissions",
            "unit": "notebook",
        }
        with _bar("notebooks read: {n_fmt}", **read) as bar:
            handed_in = list(of_one_lesson(list(bar)))
        for one in _renamed(collected, handed_in, records):
            records.take_back(one.student.key, one.lesson)
        kept = (records.of(one.student, one.hand_in, of_lesson(one.lesson)) for one in handed_in)
        records.keep(*chain.from_iterable(kept))
        gradable = [one for one in handed_in if not one.hand_in.why_not]
        together, alone = _to_do(records, gradable, trusted)
        size = sum(len(exercises) for _, exercises in (*together, *alone))
        with _bar(line, total=size, desc="judging", unit="answer") as bar:
            judges = partial(_Judges, records, trusted, timeout, bar.update)
            judges(AT_ONCE).judge_all(together)
            again, _ = _to_do(records, [submission for submission, _ in together], trusted)
            bar.total += sum(len(exercises) for _, exercises in again)
            judges(1).judge_all([*alone, *again])
        print(summary(records, about, write_all(records, about, out, trusted=trusted)))
        if nbgrader:
            print(put_into_nbgrader(grades(records.all(), about), about, nbgrader))


def _renamed(collected: Path, handed_in: Sequence[Submission], records: Store) -> list[Answer]:
    """The answers of earlier gradings that are another student's by the class list of today.
    Raises CannotBeGraded if it's a zip in which no system named the students, or one in a folder,
    and it lacks somebody who has handed in that lesson before: it may be one student's, with
    others' names in it.
    """
    whose = {_notebook(one): one.student.key for one in handed_in}
    before = records.all()
    renamed = [
        one for one in before if whose.get(_notebook(one), one.student.key) != one.student.key
    ]
    lessons = {
        one.lesson
        for one in handed_in
        if (collected.is_file() and one.hand_in.system == "plain")
        or (collected.is_dir() and _is_packed(one.file))
    }
    had = {one.student.key for one in before if one.lesson in lessons and one not in renamed}
    if lacks := had - {*whose.values()}:
        raise CannotBeGraded(
            f"{collected.name} lacks {short(', '.join(sorted(lacks)), 200)}, graded before. {PART}"
        )
    return renamed


def _is_packed(file: File) -> bool:
    """Does it lie in a zip of several students'? A folder without a notebook is a place in it."""
    if file.inside:
        return file.inside.of_class or _is_packed(file.inside)
    return any(part.lower().endswith(".zip") for part in file.parts[:-1])


def _notebook(of: Submission | Answer) -> tuple[str, str, str]:
    return of.hand_in.file, of.lesson, of.hand_in.digest


def _bar(line: str, **options: Any) -> tqdm:
    """A progress bar; or where that can't be drawn, this line, every PROGRESS_S seconds."""
    if sys.stderr.isatty():
        return tqdm(delay=2, **options)
    return tqdm(
        bar_format=f"{line}\n", delay=PROGRESS_S, mininterval=PROGRESS_S, miniters=1, **options
    )


def _to_do(
    records: Store, handed_in: Iterable[Submission], trusted: bool
) -> tuple[list[Work], list[Work]]:
    """The answers that have no verdict yet: those that may run beside another answer, and those
    that must run alone.
    """
    # the verdict of this very check on this very notebook, unless a full disk prevented the check
    final = {
        (one.student.key, one.exercise, by.digest, by.check, by.trusted)
        for one in records.all()
        if (by := one.verdict).cause != judge.NOT_CHECKED
    }
    together = []
    alone = []
    for submission in handed_in:
        student = submission.student.key
        digest = submission.hand_in.digest
        unjudged = [
            name
            for name in of_lesson(submission.lesson)
            if (student, name, digest, check(name), trusted) not in final
        ]
        for work, kind in ((together, False), (alone, True)):
            if exercises := tuple(name for name in unjudged if runs_alone(name) is kind):
                work.append((submission, exercises))
    return together, alone


@dataclass
class _Judges:
    """Processes that judge, one a notebook, `at_once` at a time. What is slow when judged `alone`
    is slow by itself.
    """

    records: Store
    trusted: bool
    timeout: float
    done: Callable[[], object]
    at_once: int
    over: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: set[subprocess.Popen] = field(default_factory=set)

    @property
    def alone(self) -> bool:
        return self.at_once == 1

    def judge_all(self, work: Iterable[Work]) -> None:
        """Judges every answer, and keeps each verdict as soon as it comes. No judge outlives
        this.
        """
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for _ in pool.map(lambda job: self._judge(*job), work):
                    pass  # raises what went wrong there
            finally:
                self.over = True
                for process in list(self.running):
                    process.kill()

    def _judge(self, submission: Submission, exercises: Sequence[str]) -> None:
        """Keeps the verdict on each of these answers. An answer that ends its judge isn't graded;
        the others go on.
        """
        left = list(exercises)
        hand_in = submission.hand_in

        def put(exercise: str, **verdict) -> None:
            left.remove(exercise)
            # "" to judge it again
            disturbed = verdict.get("cause") in TOO_SLOW or REFUSED in verdict.get("because", "")
            by = check(exercise) if self.alone or not disturbed else ""
            with self.lock:
                judged = Verdict(**verdict, digest=hand_in.digest, check=by, trusted=self.trusted)
                self.records.keep(Answer(submission.student, exercise, hand_in, judged))
                self.done()

        with for_one() as reasons:
            notebook = submission.notebook()
            while left and not self.over:
                reason = self._ask(notebook, hand_in.commit, left, put)
                if left and not self.over:
                    put(left[0], because=reason, cause="judge-ended")
        for why in reasons:
            for name in list(left):
                put(name, because=why, cause=judge.NOT_CHECKED)

    def _ask(
        self, notebook: bytes, commit: str, exercises: Sequence[str], put: Callable[..., None]
    ) -> str:
        """Starts a judge and passes on its verdicts. Returns how it ended, in case some verdicts
        are missing.
        """
        request = {
            "exercises": list(exercises),
            "commit": commit,
            "trusted": self.trusted,
            "timeout": self.timeout,
        }
        command = [sys.executable, "-m", "helpers.classroom.judge"]
        how = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "cwd": ROOT,
            "start_new_session": True,
        }
        with (
            tempfile.TemporaryFile() as complaints,
            subprocess.Popen(command, stderr=complaints, **how) as process,
        ):
            self.running.add(process)
            try:
                with suppress(BrokenPipeError), process.stdin as inbox:
                    inbox.write(json.dumps(request).encode() + b"\n" + notebook)
                while line := _line(process):
                    put(**json.loads(line))
            finally:
                self.running.discard(process)
                process.kill()
            complaints.seek(0)
            last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
        code = process.returncode
        ended = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        if ended == "SIGPROF":
            for name in list(exercises):
                put(name, because=TOO_LONG, cause="judge-ended")
        return short(f"the judge ended before it had a verdict ({', '.join((*last, ended))})", 400)


def _line(process: subprocess.Popen) -> bytes:
    """The judge's next line; b"" if it has ended, or is killed because it took longer than
    TIMEOUT_S.
    """
    clock = threading.Timer(TIMEOUT_S, process.kill)
    clock.start()
    try:
        return process.stdout.readline()
    finally:
        clock.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.classroom.grade", description="Grade students' work."
    )
    parser.add_argument(
        "collected", type=path_of, nargs="?", help="a folder or a zip, as Moodle or Canvas make it"
    )
    parser.add_argument(
        "--out",
        type=path_of,
        help=f"where the grades go ({GRADES}, or grades/ in nbgrader's course)",
    )
    parser.add_argument(
        "--trust", action="store_true", help="no sandbox: students' code runs with your rights"
    )
    parser.add_argument(
        "--nbgrader",
        type=path_of,
        metavar="COURSE",
        help="a course to grade, and to give scores to",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=judge.TIMEOUT,
        help="seconds for a function (%(default).0f)",
    )
    options = parser.parse_args()
    # a name may hold what the terminal's encoding can't show
    sys.stdout.reconfigure(errors="replace")
    if not options.collected and not options.nbgrader:
        sys.exit("Say what to grade: make grade FROM=submissions.zip, or NBGRADER=course/")
    try:
        # not all of the course: our grades are in it
        collected = options.collected or options.nbgrader / SUBMITTED
        out = options.out or (options.nbgrader / "grades" if options.nbgrader else GRADES)
        grade(
            collected,
            out,
            trusted=options.trust,
            nbgrader=options.nbgrader,
            timeout=options.timeout,
        )
    except NotReady as error:
        sys.exit(f"Graded, but nbgrader's gradebook has not changed. {error}")
    except (CannotBeGraded, OSError, ValueError) as error:
        sys.exit(f"Nothing was graded: {error}")


if __name__ == "__main__":
    main()
