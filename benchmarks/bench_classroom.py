"""What grading a class costs, as an ordinary user: `python benchmarks/bench_classroom.py`, or `…
20` for 20 students.

Each student hands in lesson 02, with three answers. Of ten students, six are right, three are wrong
and one is hostile. With `--kills 20` the class is graded once more, by a grader that is killed at
20 random moments.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import matplotlib.pyplot as plt
import psutil

from helpers.classroom import sandbox
from helpers.classroom.judge import NOT_CHECKED
from helpers.classroom.store import Verdict, store
from helpers.folders import NOTEBOOKS, ROOT, scratch_folder
from helpers.measure.machine import here
from helpers.teach import exercise
from helpers.units import MiB

LESSON = NOTEBOOKS / "02_copy_a_big_file.ipynb"
ASKED = [exercise(f"02.{name}") for name in ("chunks", "hidden", "report")]
HOSTILE = sorted((ROOT / "tests" / "hostile_class").glob("02.*/*.py"))
MIX = {"right": 6, "wrong": 3, "hostile": 1}
PICTURE = Path(__file__).with_name("classroom.png")


def answers(chance: random.Random) -> tuple[str, dict[str, str]]:
    """The kind of a student's answers, and a function for each exercise."""
    (kind,) = chance.choices(list(MIX), list(MIX.values()))
    pools = {
        "right": {
            task.key: [task.solution_source, *(answer.body for answer in task.right)]
            for task in ASKED
        },
        "wrong": {
            task.key: [answer.body for answer in task.wrong if answer.can_be_given]
            for task in ASKED
        },
        "hostile": {
            task.key: [path.read_text() for path in HOSTILE if path.parent.name == task.key]
            for task in ASKED
        },
    }
    return kind, {key: chance.choice(pool) for key, pool in pools[kind].items()}


def hand_in(at: Path, functions: dict[str, str]) -> None:
    notebook = json.loads(LESSON.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for task in ASKED:
            if f'exercise("{task.key}").check(' in "".join(cell["source"]):
                cell["source"] = (
                    f'{functions[task.key]}\n\n\nexercise("{task.key}").check({task.name})'
                )
    at.parent.mkdir(parents=True)
    at.write_text(json.dumps(notebook), encoding="utf-8")


def start(collected: Path, out: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "helpers.classroom.grade", collected, "--out", out], cwd=ROOT
    )


def graded(collected: Path, out: Path) -> tuple[float, list[tuple[float, float]]]:
    """Seconds, and the grader's own memory over time, in MiB: its unique set size."""
    began, memory, grader = time.monotonic(), [], start(collected, out)
    while grader.poll() is None:
        memory.append(
            (time.monotonic() - began, psutil.Process(grader.pid).memory_full_info().uss / MiB)
        )
        time.sleep(1)
    assert grader.returncode == 0
    return time.monotonic() - began, memory


def killed(collected: Path, out: Path, times: int, seconds: float) -> int:
    """Grades with a grader that is killed `times` in about the `seconds` it needs. Returns how many
    rows it had then.

    AssertionError if one of those rows changes afterwards.
    """
    chance, before = random.Random(times), {}
    for _ in range(times):
        grader = start(collected, out)
        with suppress(subprocess.TimeoutExpired):
            grader.wait(chance.uniform(0, 2 * seconds / times))
        grader.kill()
        grader.wait()
        before = final_rows(out, before)
    graded(collected, out)
    final_rows(out, before)
    return len(before)


def final_rows(out: Path, before: dict[tuple[str, str], Verdict]) -> dict[tuple[str, str], Verdict]:
    """The verdicts that won't be given again. AssertionError if one from `before` has changed."""
    with store(out) as known:
        now = {
            (one.student.key, one.exercise): one.verdict
            for one in known.all()
            if one.verdict.check and one.verdict.cause != NOT_CHECKED
        }
    assert not (
        changed := [(row, now.get(key)) for key, row in before.items() if now.get(key) != row]
    ), changed
    return now


def outcomes(out: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """(student, exercise) -> (outcome, points)."""
    with open(out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    return {
        (line["student"], line["exercise"]): (line["outcome"], line["points"]) for line in lines
    }


def draw(memory: list[tuple[float, float]]) -> None:
    _, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
    axes.plot([seconds / 60 for seconds, _ in memory], [size for _, size in memory])
    axes.set(xlabel="minutes", ylabel="own memory, MiB", ylim=(0, None))
    plt.savefig(PICTURE, dpi=120)


def alone(rounds: int = 3) -> None:
    """Times a right answer in the sandbox, and as a student runs it at home."""
    print("\n| solution of | in the sandbox | as at home |\n|---|---:|---:|")
    for task in ASKED:
        made, best = task.made(task.solution_source), {}
        for _ in range(rounds):
            for place, options in (("inside", {"fence": sandbox.fence}), ("home", {})):
                began = time.perf_counter()
                assert task.verdict(made, **options).outcome == "right"
                best[place] = min(best.get(place, 99), time.perf_counter() - began)
        print(f"| `{task.key}` | {best['inside']:.2f} s | {best['home']:.2f} s |")


def main(students: int, kills: int) -> None:
    if why := sandbox.unavailable_reason():
        print(f"can't run here: {why}")
        return
    chance, kinds = random.Random(12), {}
    with scratch_folder("classroom") as folder:
        for number in range(students):
            name = f"student {number:03}"
            kinds[name], functions = answers(chance)
            hand_in(folder / "collected" / name / LESSON.name, functions)
        seconds, memory = graded(folder / "collected", folder / "out")
        told = outcomes(folder / "out")
        print(f"\n{students} hand-ins, {len(told)} answers: {seconds / 60:.1f} minutes, {here()}\n")
        if kills:
            rows = killed(folder / "collected", folder / "killed", kills, seconds)
            other = {
                key: (told[key], came)
                for key, came in outcomes(folder / "killed").items()
                if came != told[key]
            }
            print(
                f"{kills} kills, {rows} rows at the last, none of them changed since; other "
                f"outcomes: {other}\n"
            )
    found = Counter((kinds[student], outcome) for (student, _), (outcome, _) in told.items())
    print("| answers | " + " | ".join(columns := sorted({outcome for _, outcome in found})) + " |")
    print("|---|" + "---:|" * len(columns))
    for kind in MIX:
        print(f"| {kind} | " + " | ".join(f"{found[kind, outcome]}" for outcome in columns) + " |")
    quarters = [memory[len(memory) * i // 4 : len(memory) * (i + 1) // 4] for i in range(4)]
    most = ", ".join(f"{max(size for _, size in part):.0f}" for part in quarters if part)
    print(f"\nThe grader's own memory, its peak in each quarter of that time: {most} MiB")
    draw(memory)
    alone()


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("students", type=int, nargs="?", default=200)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    main(options.students, options.kills)
