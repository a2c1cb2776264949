"""Answers in one SQLite file. A verdict is in it as soon as it is known, whole or not at all."""

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

Outcome = Literal["right", "not yet", "not attempted", "not graded", "missing"]
FILE = "grades.sqlite"
OF_A_LESSON = "student = ? and lesson = ?"


@dataclass(frozen=True)
class Student:
    # tells students apart: from the class list, or else a system's number or id, or the folder's
    # name
    key: str
    name: str  # to show; may have any characters, and is escaped wherever it is shown
    email: str = ""  # if known
    # the student's, by their paths below what was collected, if their names don't say so
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class HandIn:
    """A student's notebook for a lesson; the last, if there are several."""

    lesson: str  # "02"; "" if nothing in it shows that
    # its path below the collected folder: "A_1234_assignsubmission_file/02_copy_a_big_file.ipynb";
    # "" if nothing was handed in
    file: str = ""
    digest: str = ""  # SHA-256 of the notebook, hexadecimal; "" if it could not be read
    when: str = ""  # ISO 8601 with a zone; "" if unknown
    # if the collecting system says so; the course's due dates come in when grades are written
    late: bool = False
    edition: str = ""  # that the notebook names, "2026-11-22 (11a3030)"; "" if it names none
    commit: str = ""  # that edition's, in full
    why_not: str = ""  # why it cannot be graded; "" if it can
    # the student's: {"02.peak": 256.0}, as plain JSON
    predictions: dict = field(default_factory=dict)
    others: tuple[str, ...] = ()  # the student's other notebooks for the lesson, which don't count
    system: str = ""  # that collected it: "moodle", "canvas", "nbgrader" or "plain"
    place: str = ""  # its name in that system, "A_1234_assignsubmission_file"
    number: str = ""  # the student's in Moodle or Canvas, "1234"; "" if that gave none
    copied: bool = False  # is `when` a file's time that may be that of a copy?


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome = "not graded"
    because: str = "this has not been graded yet. `make grade` does it."  # Markdown
    cause: str = ""  # the judge's name for the mistake, "too-much-memory"
    figures: tuple[str, ...] = ()
    seconds: float = 0.0
    digest: str = ""  # of the hand-in that has the answer
    # hash of the check that judged it: if the check has changed since, the answer is judged again
    check: str = ""
    trusted: bool = False  # was it judged without a sandbox?
    half: str = ""  # which of two things is right, "the bytes"; "" if none is, or if all is
    # number of the cell that was judged, among all the notebook's cells, from 1; 0 if there is none
    cell: int = 0
    code: str = ""  # that cell's, or the beginning and the end of it


@dataclass(frozen=True)
class Answer:
    """A student's, to an exercise. What the teacher says of it isn't stored: see grades.py."""

    student: Student
    exercise: str  # "02.chunks"; "" for a hand-in without exercises
    hand_in: HandIn
    verdict: Verdict = Verdict()
    points: float = 0.0  # out of `most`; the teacher's, if `by_teacher`
    most: float = 0.0
    comment: str = ""
    by_teacher: bool = False
    late: Literal["", "late", "unknown"] = ""

    @property
    def lesson(self) -> str:
        return self.hand_in.lesson

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def is_settled(self) -> bool:
        """True if the points count; False if the answer could not be graded and the teacher hasn't
        given any points.
        """
        return self.by_teacher or self.outcome != "not graded"

    @property
    def standing(self) -> str:
        """The outcome, or "half right"; what the teacher's points make of an answer that could not
        be graded.
        """
        if self.outcome == "not graded" and self.by_teacher:
            if self.points >= self.most:
                return "right"
            return "half right" if self.points else "not yet"
        return "half right" if self.verdict.half else self.outcome


class Store:
    """Open for one grader at a time: `with store(folder) as known: known.keep(answer)`. Not for two
    threads at once.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        connection.execute(
            "create table if not exists answers "
            "(student, lesson, exercise, answer, primary key (student, lesson, exercise))"
        )
        if connection.execute("select * from sqlite_master where name = 'hand_ins'").fetchone():
            self.keep(*_of_three_tables(connection))
            connection.executescript(
                "begin; drop table students; drop table hand_ins; drop table rows; commit; vacuum"
            )

    def keep(self, *answers: Answer) -> None:
        """Keeps all these or, if the process is killed, none; replaces what it had of the same
        students and exercises.
        """
        with self._connection:
            for answer in answers:
                names = answer.student.key, answer.lesson, answer.exercise
                parts = [asdict(one) for one in (answer.student, answer.hand_in, answer.verdict)]
                row = [json.dumps(one) for one in (*names, parts)]
                self._connection.execute("insert or replace into answers values (?, ?, ?, ?)", row)

    def of(self, student: Student, hand_in: HandIn, exercises: Collection[str]) -> list[Answer]:
        """The answers in a hand-in, with the verdicts on them or on the one before."""
        answers = {name: Answer(student, name, hand_in) for name in exercises or [""]}
        for one in self._found(OF_A_LESSON, student.key, hand_in.lesson):
            answers[one.exercise] = replace(one, student=student, hand_in=hand_in)
        return [*answers.values()]

    def all(self) -> list[Answer]:
        """By student, lesson and exercise."""
        return self._found("true")

    def _found(self, which: str, *values: str) -> list[Answer]:
        rows = self._connection.execute(
            f"select exercise, answer from answers where {which} "
            "order by student, lesson, exercise",
            [*map(json.dumps, values)],
        )
        return [_answer(json.loads(exercise), *json.loads(parts)) for exercise, parts in rows]

    def take_back(self, student: str, lesson: str) -> None:
        """Deletes a hand-in and the verdicts on it, which are another student's."""
        self._delete(OF_A_LESSON, student, lesson)

    def forget(self, student: str) -> int:
        """Deletes all data on a student, from the disk too. Returns how many answers there were."""
        gone = self._delete("student = ?", student)
        self._connection.execute("vacuum")
        return gone

    def _delete(self, which: str, *values: str) -> int:
        with self._connection:
            return self._connection.execute(
                f"delete from answers where {which}", [*map(json.dumps, values)]
            ).rowcount


Kind = TypeVar("Kind", Student, HandIn, Verdict)


def _answer(exercise: str, student: dict, hand_in: dict, verdict: dict) -> Answer:
    return Answer(
        _made(Student, student), exercise, _made(HandIn, hand_in), _made(Verdict, verdict)
    )


def _made(kind: type[Kind], values: dict[str, Any]) -> Kind:
    """Of what another edition has kept, too, which may have more fields or fewer."""
    known = {one.name: values[one.name] for one in fields(kind) if one.name in values}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in known.items()})


def _of_three_tables(connection: sqlite3.Connection) -> list[Answer]:
    """The answers in a store of an older edition, which kept students, hand-ins and verdicts
    apart.
    """

    def rows(table: str) -> list[dict]:
        found = connection.execute(f"select * from {table}")
        names = [name for name, *_ in found.description]
        return [dict(zip(names, map(json.loads, row), strict=True)) for row in found]

    students = {row["key"]: row for row in rows("students")}
    verdicts = rows("rows")
    answers = []
    for hand_in in rows("hand_ins"):
        key = hand_in["student"]
        student = students.get(key, {"key": key, "name": ""})
        lesson = hand_in["lesson"]
        judged = {one["exercise"]: one for one in verdicts if one["student"] == key}
        judged = {name: one for name, one in judged.items() if name.partition(".")[0] == lesson}
        for exercise, verdict in (judged or {"": {}}).items():
            answers.append(_answer(exercise, student, hand_in, verdict))
    return answers


@contextmanager
def store(folder: Path) -> Iterator[Store]:
    """The store in this folder, made for its owner alone. BlockingIOError if another grader has it
    open.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / FILE
    with closing(
        sqlite3.connect(file, timeout=0, isolation_level="IMMEDIATE", check_same_thread=False)
    ) as connection:
        connection.execute("pragma secure_delete = on")
        connection.execute("pragma locking_mode = exclusive")
        try:
            connection.execute("begin immediate")
            connection.execute("commit")
        except sqlite3.OperationalError as error:
            raise BlockingIOError(
                f"{file} is in use by another grader ({error}); wait until that ends"
            ) from None
        yield Store(connection)
