"""`make grade`: each answer is judged once, whatever state the folder is in, and whatever happens
to the judge.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from test_judge import notebook
from test_sandbox import needed
from test_submissions import zipped

from helpers.classroom import grade as grading
from helpers.classroom import judge, sandbox
from helpers.classroom.grade import CannotBeGraded, grade
from helpers.classroom.store import Verdict, store
from helpers.folders import ROOT
from helpers.teach import exercise

pytestmark = pytest.mark.slow

REPORT = exercise("02.report")
RIGHT = REPORT.solution_source
WRONG = REPORT.wrong[0]
ADAS = "ada", "02.report"


@pytest.fixture
def collected(tmp_path: Path) -> Callable[..., Path]:
    """A folder with a notebook of lesson 02 for each student, by name."""

    def hand_in(**answers: str | bytes) -> Path:
        for name, answer in answers.items():
            path = tmp_path / "collected" / name / "02_copy_a_big_file.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(answer if isinstance(answer, bytes) else notebook(answer))
        return tmp_path / "collected"

    return hand_in


def rows(folder: Path) -> dict[tuple[str, str], Verdict]:
    with store(folder) as known:
        return {(one.student.key, one.exercise): one.verdict for one in known.all()}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every exercise that a judge was asked about."""
    real = grading._Judges._ask
    seen = []

    def ask(judges, notebook, commit, exercises, put):
        seen.extend(exercises)
        return real(judges, notebook, commit, exercises, put)

    monkeypatch.setattr(grading._Judges, "_ask", ask)
    return seen


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has this script run in place of each judge."""

    def run(script: str) -> None:
        (shell := tmp_path / "python").write_text(f"#!/bin/sh\n{script}\n")
        shell.chmod(0o755)
        monkeypatch.setattr(grading.sys, "executable", str(shell))

    return run


def test_each_answer_is_judged_once(
    collected,
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
):
    monkeypatch.setattr(grading, "PROGRESS_S", 0.0)
    out = tmp_path / "out"
    grade(collected(ada=RIGHT, bob=WRONG.body, eve=b"{"), out, trusted=True)
    said, progress = capsys.readouterr()
    first = rows(out)
    outcomes = {name: first[name, "02.report"].outcome for name in ("ada", "bob", "eve")}
    assert outcomes == {"ada": "right", "bob": "not yet", "eve": "not graded"}
    assert first["bob", "02.report"].cause == WRONG.expect
    assert first["ada", "02.chunks"].outcome == "not attempted"
    assert len(first) == 9
    assert said.startswith("3 students, 9 answers: 1 right, 1 not yet, 4 not attempted, 3 not")
    assert said.endswith(
        f"The results are in {out}: gradebook.csv, totals.csv, feedback, report.html.\n"
    )
    far = [line for line in progress.splitlines() if line.strip()]  # where no bar can be drawn
    assert far[0] == "notebooks read: 0"
    assert "notebooks read: 3" in far
    assert far[-1].startswith("judged 9 of 9 answers")
    asked.clear()
    grade(collected(), out, trusted=True)
    assert not asked
    assert rows(out) == first


def test_what_has_changed_is_judged_again_and_nothing_else(
    collected, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    grade(collected(ada=WRONG.body, bob=RIGHT), out, trusted=True)
    asked.clear()
    grade(collected(ada=RIGHT), out, trusted=True)
    assert sorted(asked) == ["02.chunks", "02.hidden", "02.report"]
    assert rows(out)["ada", "02.report"].outcome == "right"
    asked.clear()
    real = grading.check
    monkeypatch.setattr(
        grading, "check", lambda key: "another" if key == "02.hidden" else real(key)
    )
    grade(collected(), out, trusted=True)
    assert asked == ["02.hidden", "02.hidden"]
    with store(out) as known:
        (ada,) = [one for one in known.all() if (one.student.key, one.exercise) == ADAS]
        known.keep(replace(ada, verdict=replace(ada.verdict, cause=judge.NOT_CHECKED)))
    asked.clear()
    grade(collected(), out, trusted=True)
    assert asked == ["02.report"]
    assert rows(out)["ada", "02.report"].outcome == "right"


def test_a_zip_without_those_who_were_graded_changes_nothing(collected, tmp_path: Path):
    """It may be one student's, with others' names in it."""
    out = tmp_path / "out"
    packed = tmp_path / "mal.zip"
    grade(collected(ada=RIGHT, bob=RIGHT), out, trusted=True)
    first = rows(out)
    wrong = {f"{name}/02_x.ipynb": notebook(WRONG.body) for name in ("ada", "bob")}
    packed.write_bytes(
        zipped({"ada/02_x.ipynb": notebook(WRONG.body), "carl/02_x.ipynb": notebook(RIGHT)})
    )
    (late := tmp_path / "late").mkdir()
    for name in ("02.zip", "lesson 02.zip"):
        (late / name).write_bytes(packed.read_bytes())
    for name in (packed, late):
        with pytest.raises(CannotBeGraded, match=f"{name.name} lacks bob, graded before"):
            grade(name, out, trusted=True)
    assert rows(out) == first
    packed.write_bytes(zipped(wrong))
    grade(packed, out, trusted=True)
    assert {row.outcome for row in rows(out).values()} == {"not yet", "not attempted"}


def test_a_judge_that_ends_takes_nobody_with_it(collected, tmp_path: Path, instead):
    """The judge is killed whenever it's asked about 02.chunks."""
    kill = 'case "$asked" in *02.chunks*) echo no such luck >&2; kill -SEGV $$;; esac'
    instead(f'read -r asked\n{kill}\n(echo "$asked"; cat) | "{sys.executable}" "$@"')
    grade(collected(ada=RIGHT, bob=RIGHT), tmp_path / "out", trusted=True)
    found = rows(tmp_path / "out")
    for name in ("ada", "bob"):
        ended = found[name, "02.chunks"]
        assert (ended.outcome, found[name, "02.report"].outcome) == ("not graded", "right")
        assert "SIGSEGV" in ended.because
        assert "no such luck" in ended.because


def test_what_takes_too_long_to_read_is_asked_once(collected, tmp_path: Path, instead):
    instead(f"echo asked >>{tmp_path}/times\nkill -PROF $$")
    grade(collected(ada=RIGHT), tmp_path / "out", trusted=True)
    found = rows(tmp_path / "out").values()
    assert {(row.outcome, row.because) for row in found} == {("not graded", grading.TOO_LONG)}
    assert len(found) == 3
    assert (tmp_path / "times").read_text().split() == ["asked"]


@pytest.mark.parametrize(
    "verdict",
    [
        {"cause": "still-running"},
        {"cause": "raised", "because": "it raised OSError: [Errno 109] Too many references"},
    ],
)
def test_what_others_may_have_disturbed_is_asked_again_alone(
    collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: dict[str, str]
):
    asked = []

    def ask(judges, notebook, commit, exercises, put):
        for name in list(exercises):
            asked.append((name, judges.alone))
            slow = name == "02.hidden" and not judges.alone
            put(
                name,
                **({"outcome": "not yet"} | verdict if slow else {"outcome": "right"}),
            )
        return ""

    monkeypatch.setattr(grading._Judges, "_ask", ask)
    grade(collected(ada=RIGHT), tmp_path / "out", trusted=True)
    assert asked[-1] == ("02.hidden", True)
    assert len(asked) == 4
    assert {row.outcome for row in rows(tmp_path / "out").values()} == {"right"}
    grade(collected(), tmp_path / "out", trusted=True)
    assert len(asked) == 4


def test_a_judge_without_an_end_is_ended(
    collected, tmp_path: Path, instead, monkeypatch: pytest.MonkeyPatch
):
    instead("exec sleep 600")
    monkeypatch.setattr(grading, "TIMEOUT_S", 0.5)
    grade(collected(ada=RIGHT), tmp_path / "out", trusted=True)
    assert {row.outcome for row in rows(tmp_path / "out").values()} == {"not graded"}


@pytest.mark.measured
def test_checks_that_measure_time_run_alone_and_last(
    collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    running = set()
    most = {}
    order = []

    def ask(judges, notebook, commit, exercises, put):
        running.add(id(exercises))
        for name in list(exercises):
            time.sleep(0.2)
            most[name] = max(most.get(name, 0), len(running))
            order.append(name)
            put(name, outcome="not attempted")
        running.discard(id(exercises))
        return ""

    monkeypatch.setattr(grading._Judges, "_ask", ask)
    monkeypatch.setattr(grading, "runs_alone", lambda key: key == "02.hidden")
    grade(collected(ada=RIGHT, bob=RIGHT, eve=RIGHT), tmp_path / "out", trusted=True)
    assert (most["02.chunks"], most["02.hidden"]) == (2, 1)
    assert order[-3:] == ["02.hidden"] * 3


def test_what_cannot_be_graded_is_refused(
    collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    with pytest.raises(FileNotFoundError):
        grade(tmp_path / "nowhere", out, trusted=True)
    with store(out), pytest.raises(BlockingIOError, match="in use by another grader"):
        grade(collected(ada=RIGHT), out, trusted=True)
    monkeypatch.setattr(sandbox, "unavailable_reason", lambda: "there is no bwrap")
    with pytest.raises(CannotBeGraded, match=r"(?s)there is no bwrap.*TRUST=yes"):
        grade(collected(ada=RIGHT), tmp_path / "another")
    assert not (tmp_path / "another").exists()


@needed
def test_a_grader_that_is_killed_leaves_no_process_and_goes_on(collected, tmp_path: Path):
    asleep = f"import time\ndef {REPORT.name}(report):\n    time.sleep(3)"
    folder = collected(ada=RIGHT, bob=asleep)
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "helpers.classroom.grade",
        folder,
        "--out",
        out,
        "--timeout",
        "1.5",
    ]
    grader = psutil.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while (
        "bwrap" not in str(started := grader.children(recursive=True)) and time.monotonic() < until
    ):
        time.sleep(0.1)
    grader.kill()
    grader.wait()
    assert not psutil.wait_procs(started, timeout=10)[1]
    grade(folder, out, timeout=1.5)
    found = rows(out)
    assert (found["ada", "02.report"].outcome, found["bob", "02.report"].outcome) == (
        "right",
        "not yet",
    )


def test_of_an_nbgrader_course_what_was_submitted_is_graded(
    collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing else: its folder also holds the grades, those of the last time and class.toml, which
    nobody hands in.
    """
    course = tmp_path / "course"
    (course / "submitted" / "ada").mkdir(parents=True)
    (collected(ada=RIGHT) / "ada").rename(course / "submitted" / "ada" / "02_copy_a_big_file")
    monkeypatch.setattr(grading, "put_into_nbgrader", lambda *_: "")
    monkeypatch.setattr(sys, "argv", ["grade", "--nbgrader", str(course), "--trust"])
    for _ in range(2):
        grading.main()
        with store(course / "grades") as known:
            assert {one.student.key for one in known.all()} == {"ada"}
    assert rows(course / "grades")["ada", "02.report"].outcome == "right"
