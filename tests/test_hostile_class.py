"""A class of vandals, graded by `make grade` beside students with right answers: no trick scores, no student is lost,
and no process or file is left behind.

An answer is a file in tests/hostile_class/NN.name/. Its first line names the trick, and its second says what must come
of it: a cause, or "not graded". Notebooks, archives and names are made here. None is executed in this process.
"""

import csv
import hashlib
import json
import os
import stat
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hand_ins import grader, hand_in, left_in, of_lesson, processes_of, rows
from test_judge import notebook

from helpers.classroom import judge, sandbox
from helpers.classroom.store import Row
from helpers.folders import ROOT
from helpers.scratch import room
from helpers.teach import exercise
from helpers.units import GiB, MiB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(sandbox.why_not()) and "CI" not in os.environ, reason=sandbox.why_not()),
]

FOLDER = Path(__file__).with_name("hostile_class")
ANSWERS = sorted(FOLDER.glob("*/*.py"))
FILE = "02_copy_a_big_file.ipynb"
TRACE = "zero-copy-was-here"  # in the name of every file that a trick leaves
RIGHTEOUS = {"ada": "02.chunks", "noether": "10.holders", "7001": "02.report"}  # the exercise that each has right
TWINS = ("7001", "7002")  # two students with the same name
SECONDS = 2  # for a student's function


@dataclass(frozen=True)
class Expected:
    """The results that an exercise may have: causes, or "not graded", or "not attempted"."""

    exercise: str
    words: tuple[str, ...]


# --- answers --------------------------------------------------------------------------------------------------
def expected(path: Path) -> Expected:
    trick, expect = path.read_text(encoding="utf-8").splitlines()[:2]
    assert trick.startswith("# ") and expect.startswith("# expect: "), f"{path}: the trick, and what must come of it"
    return Expected(path.parent.name, tuple(expect.removeprefix("# expect: ").split(" or ")))


# --- notebooks ------------------------------------------------------------------------------------------------
def deep(lines: Callable[[int], str], levels: int, last: str) -> str:
    return "".join(lines(level) for level in range(levels)) + " " * levels + last


def finally_in_finally(level: int) -> str:
    """The body of `finally` is compiled twice: a thousand bytes become a million copies."""
    inside = " " * (level + 1)
    return f"{inside}try:\n{inside} pass\n{inside}finally:\n"


STUB = "def copy_small(source, target):\n    return 1\n"
SCRIPT = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>alert('vandal')</script>"}}
NOTHING = ("not attempted",)
NOT_PYTHON = ("not-python",)
HOSTILE_NOTEBOOKS: dict[str, tuple[bytes | int, tuple[str, ...]]] = {  # bytes, or the length of a sparse file
    "broken": (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = ', ("not graded",)),
    "200 MB": (200 * 10**6, ("not graded",)),
    "lists in lists": (b'{"nbformat": 4, "cells": ' + b"[" * 5 * MiB, ("not graded",)),
    "a novel": (notebook("x = '" + "1" * judge.CODE + "'", STUB), ("not graded",)),
    "numbers for text": (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1, null]}]}', ("not graded",)),
    "scripts, no cells, and an edition of its own": (
        json.dumps(
            {
                "nbformat": 4,
                "metadata": {"zero_copy": {"edition": "<b>1", "commit": "--output=/tmp/" + TRACE}},
                "cells": [None, 1, {}, {"cell_type": "code"}, [], {"cell_type": "code", "outputs": [SCRIPT]}],
            }
        ).encode(),
        NOTHING,
    ),
    "half a letter": (notebook("def copy_small(source, target):\n    return '\ud800'"), NOT_PYTHON),
    "attributes of attributes": (notebook("def copy_small(source, target):\n    source" + ".a" * 100_000), NOT_PYTHON),
    "twice twenty times": (notebook(STUB[:32] + deep(finally_in_finally, 20, " pass")), NOT_PYTHON),
    "functions in functions": (notebook("copy_small = " + "lambda: " * 10_000 + "1"), NOTHING),
    "a number by the page": (notebook(f"{STUB[:32]}    return 0x{'1' * 100_000}"), ("not graded",)),
    "decorators": (notebook("@print\n" * 10_000 + STUB), ("raised",)),
    "empty lines": (notebook("\n" * 240_000 + "x = 1"), NOTHING),
    "commands without end": (notebook("!ls\n" * 60_000), ("not graded",)),
    "names that need each other": (
        notebook("".join(f"f{i} = lambda: f{i * 7 % 900}()\nf{i}.x = 1\n" for i in range(900)), STUB), ("no-file",),
    ),
    "another function": (notebook("import os\nexercise('02.chunks').check(os)"), ("raised",)),
}  # fmt: skip


# --- archives -------------------------------------------------------------------------------------------------
def zipped(path: Path, **entries: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def leads_out(path: Path) -> None:
    zipped(path, **{f"../../../{TRACE}/{FILE}": b"{}", f"/tmp/{TRACE}.ipynb": b"{}"})


def links(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo(FILE)
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")


def many_entries(path: Path) -> None:
    zipped(path, **{f"{number}.ipynb": b"" for number in range(10_000)})


def ten_gigabytes(path: Path) -> None:
    """Ten GiB of zeros, as one compressed piece over and over: zlib(3), Z_FULL_FLUSH."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(64 * MiB)) + packer.flush(zlib.Z_FULL_FLUSH)
    data, name = piece * (10 * GiB // (64 * MiB)) + packer.flush(), FILE.encode()
    about = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, 0, len(data), 100, len(name), 0)  # it claims 100 bytes
    local = b"PK\3\4" + about + name
    central = b"PK\1\2" + struct.pack("<H", 20) + about + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    path.write_bytes(local + data + central + end)


def zip_in_zip(path: Path) -> None:
    inside = path.with_suffix(".tmp")
    zipped(inside, **{FILE: notebook("x = 1")})
    zipped(path, **{f"{number}.zip": inside.read_bytes() for number in range(3)})
    inside.unlink()


def cut_off(path: Path) -> None:
    zipped(path, **{FILE: notebook("x = 1")})
    path.write_bytes(path.read_bytes()[:-30])


ARCHIVES = {one.__name__: one for one in (leads_out, links, many_entries, ten_gigabytes, zip_in_zip, cut_off)}

# --- names ----------------------------------------------------------------------------------------------------
NAMES = [
    '=HYPERLINK("http:192.0.2.1")',
    "@SUM(1+1)*cmd|' ' !A0",
    "-rf $(touch zero-copy-was-here)",
    "<script>alert('vandal')<\N{DIVISION SLASH}script>%s%n{0}",
    "line\nend \N{RIGHT-TO-LEFT OVERRIDE}turned",
    "ä" * 127,
    ".hidden a'b\"c'); drop table rows;--",
]
ZIPPED = ["n" * 300, "../../x", "/etc/x", "Zoë"]  # in a zip, because a file system may refuse them


@dataclass(frozen=True)
class Graded:
    """What a run left: rows by student and exercise, lines of gradebook.csv, processes, files.

    others   students who handed in an archive, or something that isn't a file
    strange  how many students have a name that isn't kept as a key
    """

    rows: dict[tuple[str, str], Row]
    gradebook: list[dict[str, str]]
    answers: dict[str, Expected]
    notebooks: dict[str, tuple[str, ...]]
    others: list[str]
    strange: int
    collected: Path
    out: Path
    before: dict[str, tuple]
    processes: list[str]
    files: list[Path]
    seconds: float


@pytest.fixture(scope="module")
def graded() -> Iterator[Graded]:
    with room("vandals") as folder:
        collected, out = folder / "collected", folder / "out"
        answers = hand_in_answers(collected)
        notebooks = hand_in_notebooks(collected)
        others = [*hand_in_archives(collected), *hand_in_no_files(collected)]
        strange = hand_in_names(collected)
        before = state_of(collected)
        began = time.monotonic()
        ended = grader(collected, out, folder, "--timeout", str(SECONDS)).wait(1200)
        seconds = time.monotonic() - began
        assert ended == 0, (folder / "log").read_text()[-2000:]
        with open(out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
            gradebook = list(csv.DictReader(file))
        students, left = (answers, notebooks, others, strange), (processes_of(folder), left_in(folder))
        yield Graded(rows(out), gradebook, *students, collected, out, before, *left, seconds)
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)


def hand_in_answers(collected: Path) -> dict[str, Expected]:
    """Hands in the tricks, and right answers from two students whose names sort among them."""
    found = {}
    for path in ANSWERS:
        key = path.parent.name
        student = f"{path.stem} {key}"
        check = f'exercise("{key}").check({exercise(key).name})'
        hand_in(collected / student / of_lesson(key), path.read_text(encoding="utf-8"), check)
        found[student] = expected(path)
    for name in ("ada", "noether"):
        hand_in(collected / name / of_lesson(RIGHTEOUS[name]), exercise(RIGHTEOUS[name]).solution_source)
    return found


def hand_in_notebooks(collected: Path) -> dict[str, tuple[str, ...]]:
    for name, (content, _) in HOSTILE_NOTEBOOKS.items():
        path = collected / f"notebook {name}" / FILE
        path.parent.mkdir(parents=True)
        if isinstance(content, int):
            path.touch()
            os.truncate(path, content)
        else:
            path.write_bytes(content)
    return {f"notebook {name}": words for name, (_, words) in HOSTILE_NOTEBOOKS.items()}


def hand_in_archives(collected: Path) -> list[str]:
    for name, make in ARCHIVES.items():
        (collected / f"archive {name}").mkdir()
        make(collected / f"archive {name}" / "02.zip")
    return [f"archive {name}" for name in ARCHIVES]


def hand_in_no_files(collected: Path) -> list[str]:
    made: dict[str, Callable[[Path], object]] = {
        "link": lambda path: path.symlink_to("/etc/passwd"),
        "link to ada": lambda path: path.symlink_to(collected / "ada" / FILE),
        "device": lambda path: path.symlink_to("/dev/zero"),
        "fifo": os.mkfifo,
        "folder": Path.mkdir,
        "locked": lambda path: path.touch(mode=0o000),
    }
    for name, make in made.items():
        (collected / name).mkdir()
        make(collected / name / FILE)
    return list(made)


def hand_in_names(collected: Path) -> int:
    """Hands in under difficult names. Returns how many students that makes, not counting the twins."""
    for name in NAMES:
        hand_in(collected / name / FILE, "x = 1")
    undecodable = os.fsencode(collected) + b"/\xff\xfe"
    os.mkdir(undecodable)
    with open(undecodable + b"/" + FILE.encode(), "wb") as file:
        file.write(notebook("x = 1"))
    for number in TWINS:
        cell = exercise(RIGHTEOUS[number]).solution_source if number in RIGHTEOUS else "x = 1"
        hand_in(collected / f"Twin_{number}_assignsubmission_file" / FILE, cell)
    places = (f"{name}_{number}_assignsubmission_file" for number, name in enumerate(ZIPPED, 8001))
    zipped(collected / "class.zip", **{f"{place}/{FILE}": notebook("x = 1") for place in places})
    return len(NAMES) + 1 + len(ZIPPED)


def state_of(folder: Path) -> dict[str, tuple]:
    """Everything about each file that can change: kind, length, time, bytes."""
    found = {}
    for path in sorted(folder.rglob("*"), key=os.fsencode):
        about = path.lstat()
        readable = stat.S_ISREG(about.st_mode) and about.st_mode & 0o400 and about.st_size < 64 * MiB
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if readable else ""
        found[os.fsdecode(path)] = about.st_mode, about.st_size, about.st_mtime_ns, digest
    return found


# --- what must hold -------------------------------------------------------------------------------------------
def said_of(graded: Graded, student: str, exercise: str) -> tuple[str, str]:
    """The outcome, or its cause if it's "not yet"; and the words."""
    lines = {one["exercise"]: one for one in graded.gradebook if one["student"] == student}
    line = lines.get("", lines[exercise])  # "" if even the lesson of the hand-in is unknown
    row = graded.rows.get((student, exercise))
    return row.cause if row and line["outcome"] == "not yet" else line["outcome"], line["because"]


def test_there_are_enough_of_them_and_each_says_its_trick():
    assert len(ANSWERS) >= 33 and len(ANSWERS) + len(HOSTILE_NOTEBOOKS) + len(ARCHIVES) + len(NAMES) >= 60
    for path in ANSWERS:
        found = expected(path)
        assert f"def {exercise(found.exercise).name}(" in path.read_text(encoding="utf-8") and found.words


def test_each_answer_meets_what_it_must(graded: Graded):
    met = {student: said_of(graded, student, trick.exercise) for student, trick in graded.answers.items()}
    wrong = {student: said for student, said in met.items() if said[0] not in graded.answers[student].words}
    assert not wrong
    assert not {student: because for student, (_, because) in met.items() if "Error: reached" in because}


def test_each_notebook_meets_what_it_must(graded: Graded):
    met = {student: said_of(graded, student, "02.chunks") for student in graded.notebooks}
    assert not {student: said for student, said in met.items() if said[0] not in graded.notebooks[student]}


def test_archives_and_what_is_no_file_are_not_graded_and_say_why(graded: Graded):
    met = {student: said_of(graded, student, "02.chunks") for student in graded.others}
    assert not {student: said for student, said in met.items() if said[0] != "not graded" or not said[1]}


def test_none_scores_and_the_righteous_do(graded: Graded):
    for line in graded.gradebook:
        righteous = RIGHTEOUS.get(line["student"]) == line["exercise"]
        assert (line["outcome"] == "right", float(line["points"] or 0) > 0) == (righteous, righteous), line


def test_none_is_lost(graded: Graded):
    """Every student has a line for each exercise, whatever the student is called."""
    lines = {}
    for line in graded.gradebook:
        lines.setdefault(line["student"], []).append(line["exercise"])
    assert all(len(set(names)) == len(names) >= 3 for names in lines.values())
    plain = {*graded.answers, *graded.notebooks, *graded.others, *RIGHTEOUS, *TWINS}
    assert plain <= set(lines) and len(lines) == len(plain) + graded.strange, sorted(set(lines) - plain)
    assert [said_of(graded, number, "02.report")[0] for number in TWINS] == ["right", "not attempted"]


def test_nothing_is_left_and_nothing_was_touched(graded: Graded):
    assert not graded.processes and not graded.files
    assert state_of(graded.collected) == graded.before
    places = (Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), ROOT, graded.out.parent)
    found = [path for place in places if place.is_dir() for path in place.glob(f"*{TRACE}*")]
    assert not [*found, *(ROOT / "helpers").rglob(f"*{TRACE}*")]


def test_it_ends_within_its_time(graded: Graded):
    """A check may run a function several times, and an answer that was slow beside others is judged twice."""
    assert graded.seconds < 60 + 4 * len(graded.answers)


def test_what_is_written_can_be_opened(graded: Graded):
    pages = [path.read_text(encoding="utf-8") for path in graded.out.rglob("*.html")]
    assert pages and not [page for page in pages if "<script>alert" in page or "javascript:" in page.split("<body")[0]]
    with open(graded.out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
        assert not [cell for row in csv.reader(file) for cell in row if cell.startswith(("=", "+", "-", "@", "\t"))]
