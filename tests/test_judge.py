"""A notebook is judged in a process of its own: what's taken from its cells, and what's said if it
isn't one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers.classroom import judge
from helpers.classroom.judge import as_given, check_hash, code_cells, verdicts
from helpers.edition import edition
from helpers.folders import ROOT
from helpers.measure import process
from helpers.teach import exercise

pytestmark = pytest.mark.slow

KEY = "02.report"
REPORT = exercise(KEY)


def notebook(*cells: str) -> bytes:
    made = [
        {"cell_type": "code", "id": f"c{i}", "source": text.splitlines(True)}
        for i, text in enumerate(cells)
    ]
    return json.dumps({"nbformat": 4, "cells": made}).encode()


def verdict(*cells: str, key: str = KEY, **options) -> dict:
    (said,) = verdicts(notebook(*cells), [key], trusted=True, **options)
    return said


def test_a_solution_is_right_and_what_is_not_done_is_not_attempted():
    said = verdict("import re", REPORT.solution_source, f'exercise("{KEY}").check({REPORT.name})')
    assert (said["exercise"], said["outcome"]) == (KEY, "right")
    assert said["figures"]
    assert said["seconds"] > 0
    assert (said["cell"], said["code"]) == (2, REPORT.solution_source.strip())
    assert verdict(REPORT.cell)["outcome"] == verdict("x = 1")["outcome"] == "not attempted"


CHECK = f'\n\nexercise("{KEY}").check({REPORT.name})'
RIGHT = REPORT.solution_source
WRONG = REPORT.wrong[0].body
MINE = RIGHT.replace(f"def {REPORT.name}(", "def mine(")
CELLS = {  # a notebook's cells, and the verdict on them
    "the last": ([WRONG + CHECK, RIGHT + CHECK], "right"),
    "the last, wrong": ([RIGHT + CHECK, WRONG + CHECK], "not yet"),
    "reset below": ([RIGHT + CHECK, REPORT.cell], "right"),
    "nowhere checked": ([WRONG, RIGHT, REPORT.starter], "right"),
    "another below, unchecked": ([REPORT.cell, RIGHT + CHECK, WRONG], "right"),
    "by its own name": ([REPORT.cell, MINE, f'exercise("{KEY}").check(mine, size=3)'], "right"),
    "without a name": ([MINE, f"exercise( '{KEY}' ).check(lambda report: mine(report))"], "right"),
    "by another name of the exercise": (
        ["asked = exercise('02.report')", MINE, "asked.check(mine)"],
        "right",
    ),
    "a broken cell below a starter": (
        [REPORT.cell, f"def {REPORT.name}(report:\n    return 1" + CHECK],
        "not yet",
    ),
}


@pytest.mark.parametrize("cells, outcome", CELLS.values(), ids=CELLS)
def test_the_last_attempt_that_is_checked_counts(cells: list[str], outcome: str):
    assert verdict(*cells)["outcome"] == outcome


KIB = RIGHT.replace("1024", "KIB")
AT_HOME = {  # cells, and what is said of them at home and in class: "" if it's right
    "measured": (
        ["swept = measure(max, 'ab').value", "KIB = 1024 * len(swept)", KIB],
        "made it with `measure`",
    ),
    "read": (
        ["with open('/dev/null') as file: KIB = 1024", KIB],
        "your notebook made it with `open`",
    ),
    "from the course": (["KIB = size('1 KiB')", KIB], ""),
    "a helper of another cell": (
        ["def unit(): return KIB", "KIB = 1024", RIGHT.replace("1024", "unit()")],
        "",
    ),
    "below": ([KIB.replace("KIB", "kib()"), "def kib(): return 1024"], ""),
    "no such name": ([KIB], "it raised NameError: name 'KIB' is not defined, in line 5"),
}


@pytest.mark.parametrize("cells, said", AT_HOME.values(), ids=AT_HOME)
def test_what_is_right_at_home_is_right_in_class(
    cells: list[str], said: str, shell: InteractiveShell
):
    """In the notebook, the check stands in the last cell; at home it was made after all of them
    were run.
    """
    imports = (
        "from helpers.measure import measure\nfrom helpers.teach import exercise\nfrom "
        "helpers.units import size"
    )
    cells = [imports, *cells, f"verdict = {CHECK.strip()}"]
    for text in cells:
        shell.run_cell(text, store_history=True)
    home = shell.user_ns["verdict"]
    there = verdict(*cells)
    assert there["because"] == home.because
    assert said in home.because
    carried = home.cause != "not-carried"
    assert home.outcome == ("not yet" if said else "right")
    assert (there["outcome"], there["cause"]) == (
        home.outcome if carried else "not graded",
        home.cause,
    )


def test_what_is_half_right_is_said():
    half = next(answer for answer in REPORT.wrong if answer.half)
    long = f"{'#' * judge.SHOWN_LENGTH}\n{half.body}\n\treturn 0"
    assert verdict(half.body)["half"] == "the bytes"
    assert verdict(REPORT.solution_source)["half"] == ""
    assert (
        judge.SHOWN_LENGTH * 0.9
        < len(verdict(long.replace("\n\treturn 0", ""))["code"])
        < judge.SHOWN_LENGTH + 9
    )


def test_what_is_not_python_is_said_with_its_line():
    said = verdict(f"x = 1\ndef {REPORT.name}(report:\n    return 1")
    assert (said["outcome"], said["cause"]) == ("not yet", "not-python")
    assert "line 2" in said["because"]


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_copy_that_nobody_may_read_is_the_student_s_slip():
    copies = "    import os, shutil\n    os.umask(0o777)\n    shutil.copyfile(source, target)"
    said = verdict(f"def copy_small(source, target):\n{copies}", key="02.chunks")
    assert (said["outcome"], said["cause"]) == ("not yet", "unreadable")
    assert "/" not in said["because"]


@pytest.mark.needs(tool="git")
def test_an_import_without_an_end_is_the_student_s_slip(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "START_LIMIT_S", 0)
    found = verdict("def explain(*cases):\n    import this")
    assert (found["outcome"], found["cause"]) == ("not yet", "still-running")


def test_an_old_edition_is_judged_by_its_own_starter():
    commit = edition().commit
    changed = replace(REPORT, starter="def explain(report):\n    return 1\n")
    assert as_given(changed, commit).starter == REPORT.starter
    for unknown in ("", "main", "--output=/tmp/x", "0" * 40, "../" * 14):
        assert as_given(changed, unknown) is changed


def test_another_check_is_another_hash(tmp_path: Path):
    folder = tmp_path / "02" / "report"
    copy = replace(REPORT, folder=shutil.copytree(REPORT.folder, folder))
    before = check_hash(copy)
    assert before == check_hash(REPORT)
    (folder / "hints.md").write_text("another")
    assert check_hash(copy) == before
    (folder / "check.py").write_text((folder / "check.py").read_text() + "\n")
    assert check_hash(copy) != before


NO_NOTEBOOKS = {
    "no text": (b"\xff\xfe{", "damaged or cut off"),
    "deep": (b"[" * 10_000_000, "damaged or cut off"),
    "a list": (b"[1, 2]", "not a notebook of format 4"),
    "many cells": (notebook(*["x"] * (judge.CELLS + 1)), "5,001 cells"),
    "much code": (
        notebook("x = '" + "a" * (judge.CODE_LENGTH + 1) + "'"),
        "250,007 characters of code",
    ),
    "numbers": (
        b'{"cells": [{"cell_type": "code", "source": [1]}]}',
        "cell 1 holds something that is not text",
    ),
}


@pytest.mark.parametrize("content, why", NO_NOTEBOOKS.values(), ids=NO_NOTEBOOKS)
def test_a_file_that_is_no_notebook_is_not_graded(content: bytes, why: str):
    verdicts_on_it = list(verdicts(content, [KEY, "02.chunks"], trusted=True))
    assert [one["outcome"] for one in verdicts_on_it] == ["not graded"] * 2
    assert why in verdicts_on_it[0]["because"]


def test_odd_cells_are_passed_over():
    markdown, code = (
        {"cell_type": "markdown", "source": "# text"},
        {"cell_type": "code", "source": "x = 1"},
    )
    cells = [None, 3, markdown, code, {"cell_type": "code"}]
    assert code_cells(json.dumps({"cells": cells}).encode()) == [
        ("<cell 4>", "x = 1"),
        ("<cell 5>", ""),
    ]


def test_what_a_function_prints_does_not_come_between_the_verdicts():
    loud = (
        f"import os\ndef {REPORT.name}(report):\n    print('{{}}')\n    os.write(1, b'forged')\n  "
        "  return 1"
    )
    asked = (
        json.dumps({"exercises": [KEY, "02.hidden"], "trusted": True}).encode()
        + b"\n"
        + notebook(loud)
    )
    done = subprocess.run(
        [sys.executable, "-m", "helpers.classroom.judge"],
        input=asked,
        capture_output=True,
        cwd=ROOT,
    )
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == [
        "not yet",
        "not attempted",
    ]


def test_a_notebook_that_takes_too_long_to_read_ends_its_judge():
    """The body of `finally` is compiled twice, and so is that of a `finally` inside it."""
    within = "".join(f"{' ' * n}try:\n{' ' * n} pass\n{' ' * n}finally:\n" for n in range(1, 19))
    asked = json.dumps({"exercises": [KEY], "trusted": True}).encode() + b"\n"
    asked += notebook(f"def {REPORT.name}(report):\n{within}{' ' * 20}pass")
    small = "from helpers.classroom import judge; judge.READ_TIME_S = 0.5; judge.main()"
    done = subprocess.run([sys.executable, "-c", small], input=asked, capture_output=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (-signal.SIGPROF, b"")


def test_nobody_judges_for_a_grader_that_has_gone(tmp_path: Path):
    leaves = f"def {REPORT.name}(report):\n    open({str(tmp_path / 'called')!r}, 'w').close()"
    asked = json.dumps({"exercises": [KEY], "trusted": True}).encode() + b"\n" + notebook(leaves)
    for somebody in (True, False):
        (tmp_path / "called").unlink(missing_ok=True)
        ours, its_end = os.pipe()
        command = [sys.executable, "-m", "helpers.classroom.judge"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=its_end, cwd=ROOT) as process:
            os.close(its_end)
            if not somebody:
                os.close(ours)
            process.communicate(asked)
        assert (tmp_path / "called").exists() is somebody
    with suppress(OSError):
        os.close(ours)
