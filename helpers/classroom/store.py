"""Hand-ins and verdicts in one SQLite file. A verdict is in it as soon as it is known, and whole or
not at all.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeVar

Outcome = Literal["right", "not yet", "not attempted", "not graded", "missing"]
FILE = "grades.sqlite"


@dataclass(frozen=True)
class Student:
    # tells students apart: from the class list, or else a system's number or id, or the folder's
    # name
    key: str
    name: str  # to show; may have any characters, and is escaped wherever it is shown
    email: str = ""  # if known
    files: tuple[
        str, ...
    ] = ()  # the student's, by their paths below what was collected, if their names don't say so


@dataclass(frozen=True)
class HandIn:
    """A student's notebook for a lesson; the last, if there are several."""

    student: str
    lesson: str  # "02"; "" if nothing in it shows that
    # its path below the collected folder: "A_1234_assignsubmission_file/02_copy_a_big_file.ipynb"
    file: str
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
    place: str = ""  # its name in the system that collected it, "A_1234_assignsubmission_file"
    system: str = ""  # that system: "moodle", "canvas", "nbgrader" or "plain"
    number: str = ""  # the student's in Moodle or Canvas, "1234"; "" if that gave none
    copied: bool = False  # is `when` a file's time that may be that of a copy?


@dataclass(frozen=True)
class Row:
    student: str
    exercise: str
    outcome: Outcome
    because: str = ""  # the verdict in words, Markdown
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

    @property
    def lesson(self) -> str:
        return self.exercise.partition(".")[0]

    @property
    def share(self) -> float:
        """The share of the exercise's points that it earns."""
        return 1.0 if self.outcome == "right" else 0.5 if self.half else 0.0


KINDS = {  # the table of each, and its key
    Student: ("students", ("key",)),
    HandIn: ("hand_ins", ("student", "lesson")),
    Row: ("rows", ("student", "exercise")),
}
Kind = TypeVar("Kind", Student, HandIn, Row)


class Store:
    """Open for one grader at a time: `with store(folder) as known: known.keep(row)`. Not for two
    threads at once.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        for kind, (table, key) in KINDS.items():
            connection.execute(
                f"create table if not exists {table} ({_names(kind)}, primary key "
                f"({', '.join(key)}))"
            )
            columns = {name for _, name, *_ in connection.execute(f"pragma table_info({table})")}
            for column in fields(kind):  # an older edition's table lacks the last ones
                if column.name not in columns:
                    connection.execute(
                        f"alter table {table} add {column.name} default "
                        f"'{json.dumps(column.default)}'"
                    )

    def keep(self, *things: Student | HandIn | Row) -> None:
        """Keeps all these or, if the process is killed, none; replaces what it had under the same
        keys.
        """
        with self._connection:
            for thing in things:
                values = [json.dumps(value) for value in astuple(thing)]
                into = f"{KINDS[type(thing)][0]} ({_names(type(thing))})"
                marks = ", ".join("?" * len(values))
                self._connection.execute(f"insert or replace into {into} values ({marks})", values)

    def all(self, kind: type[Kind]) -> list[Kind]:
        table, key = KINDS[kind]
        rows = self._connection.execute(
            f"select {_names(kind)} from {table} order by {', '.join(key)}"
        )
        values = ([json.loads(text) for text in row] for row in rows)
        return [
            kind(*(tuple(one) if isinstance(one, list) else one for one in row)) for row in values
        ]

    def forget(self, student: str) -> int:
        """Deletes all data on a student, from the disk too. Returns how many rows, hand-ins and
        names there were.
        """
        gone = 0
        with self._connection:
            for table, (key, *_) in KINDS.values():
                done = self._connection.execute(
                    f'delete from {table} where "{key}" = ?', [json.dumps(student)]
                )
                gone += done.rowcount
        self._connection.execute("vacuum")
        return gone

    def take_back(self, student: str, lesson: str) -> None:
        """Deletes a hand-in and the verdicts on it, which are another student's; and the student
        who has no other.
        """
        who = json.dumps(student)
        with self._connection:
            self._connection.execute(
                "delete from hand_ins where student = ? and lesson = ?", [who, json.dumps(lesson)]
            )
            self._connection.execute(
                "delete from rows where student = ? and exercise like ?", [who, f'"{lesson}.%']
            )
            none_left = "not exists (select * from hand_ins where student = key)"
            self._connection.execute(f"delete from students where key = ? and {none_left}", [who])


def _names(kind: type[Kind]) -> str:
    """Its columns, of which an older edition's table may have more."""
    return ", ".join(f'"{column.name}"' for column in fields(kind))


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
