"""The ballot box of the wall: who has joined, what was asked, and the votes, in one SQLite file.
What a call has returned for is kept, even if the process is killed.
"""

import csv
import io
import json
import random
import secrets
import sqlite3
import time
from collections import Counter
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from ..folders import free, lessons, write_whole
from .questions import Question, in_unit, lesson, question
from .spread import MIN_ANSWERS
from .steps import ASKED, REVEALED, STEPS

FOLDER, FILE = "wall", "wall.sqlite"  # beside the grades
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is taken for another
MOST_VOTERS = 1000
# In a minute: new voters from one address, which a whole school may share; requests of a voter;
# wrong keys.
MOST = {"new": 250, "voter": 300, "key": 60}
TABLES = """
create table if not exists about (name primary key, value) without rowid;
create table if not exists voters (voter primary key) without rowid;
create table if not exists questions (key primary key, phase, own, measured);
create table if not exists votes (key, voter, round, answer, at, primary key (key, voter, round));
create table if not exists answered (key primary key, voters);
create trigger if not exists counted after insert on votes begin
    insert or replace into answered
        select new.key, count(distinct voter) from votes where key = new.key and answer <> 'null';
end
"""


class Refused(Exception):
    """(an HTTP status, why)"""


class Ballots:
    """Open for one wall at a time. BlockingIOError if another has it open. `code`: the class's, or
    a new one. `size`: how many voters it has at most.
    """

    def __init__(self, folder: Path, code: str = "", size: int = 0) -> None:
        self.folder, self.fixed, self.size, self.minute, self.requests = (
            folder,
            code,
            size,
            0,
            Counter(),
        )
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.of_lessons = {
            one.key: one for path in lessons() for one in lesson(path.name[:2]).questions
        }
        self.open()

    def open(self) -> None:
        self.connection = sqlite3.connect(self.folder / FILE, timeout=0, isolation_level=None)
        try:
            for pragma in (
                "locking_mode = exclusive",
                "journal_mode = wal",
                "synchronous = normal",
                "secure_delete = on",
            ):
                self.connection.execute(f"pragma {pragma}")
            self.connection.executescript(TABLES)
        except sqlite3.OperationalError as error:
            self.connection.close()
            raise BlockingIOError(
                f"{self.folder / FILE} is in use by another wall ({error}); close that"
            ) from None
        (self.folder / FILE).chmod(0o600)
        self.begin()

    def begin(self) -> None:
        """Makes up what a class has from its beginning."""
        for name, size in (("code", 4), ("key", 16), ("taken back", 8)):
            if not self.about(name):
                self.note(name, "".join(secrets.choice(LETTERS) for _ in range(size)))
        if self.fixed:
            self.note("code", self.fixed)
        if self.size:
            self.note("seats", str(self.size))

    def all(self, query: str, *values: Any) -> list[tuple]:
        if not ((self.folder / FILE).exists() and (self.folder / f"{FILE}-wal").exists()):
            self.restore()
        return self.connection.execute(query, values).fetchall()

    def restore(self) -> None:
        """Somebody has deleted a file. What was in it can be read as long as it's open, and is
        written anew.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = free(self.folder / f"{FILE}-new")
        self.connection.execute("vacuum into ?", [str(copy)])
        copy.replace(self.folder / FILE)
        self.connection.close()
        self.open()

    def one(self, query: str, *values: Any) -> Any:
        """The first column of the first row; None if there is none."""
        return next((row[0] for row in self.all(query, *values)), None)

    def about(self, name: str) -> str:
        return self.one("select value from about where name = ?", name) or ""

    def note(self, name: str, value: str) -> None:
        self.all("insert or replace into about values (?, ?)", name, value)

    # --- questions ---
    @property
    def known(self) -> dict[str, Question]:
        """Those of the teacher's own notebook, by key, and those of the lessons."""
        own = self.all("select key, own from questions where own is not null")
        return {key: question(key, json.loads(text)) for key, text in own} | self.of_lessons

    def define(self, key: str, asked: dict[str, Any], measured: Any) -> None:
        """What the teacher's notebook asks, and has measured, with sizes in bytes. A lesson's
        question stays as it is, with its own measurement until there is one here. What was measured
        for another form of the question is forgotten. Refused if it isn't a question.
        """
        try:
            question(key, asked).prediction  # noqa: B018
            if measured is not None:
                measured = json.dumps(in_unit(measured, asked["unit"]))
        except (TypeError, KeyError, AttributeError, ValueError):
            raise Refused(422, "that isn't a question") from None
        self.all("insert or ignore into questions (key) values (?)", key)
        own = None if key in self.of_lessons else json.dumps(asked)
        kept = "coalesce(?, case when own is ? then measured end)"
        self.all(
            f"update questions set measured = {kept}, own = ? where key = ?",
            measured,
            own,
            own,
            key,
        )

    def path(self, key: str) -> list[str]:
        """The steps that the question has gone through, to the one where it is; [] if it was never
        asked.
        """
        return (self.one("select phase from questions where key = ?", key) or "").split()

    def phase(self, key: str) -> str:
        """The step where the question is, "" before the first."""
        return next(reversed(self.path(key)), "")

    def drawn(self, key: str) -> int:
        """How many of its votes the class sees."""
        return max((STEPS[step].drawn for step in self.path(key)), default=0)

    def move(self, phase: str) -> None:
        """The question that is asked goes on to this step. Refused if that doesn't follow."""
        path = self.path(self.about("asked"))
        if not path or phase not in STEPS[path[-1]].then:
            raise Refused(409, "that step doesn't follow")
        self.walk([*path, phase])

    def back(self) -> None:
        """One step back, if there is one. Where the first vote is open again, what came since is a
        part of it.
        """
        key = self.about("asked")
        path = self.path(key)[:-1]
        if path:
            self.walk(path)
        if path == [ASKED]:
            self.all("update or replace votes set round = 1 where key = ? and round = 2", key)

    def walk(self, path: list[str]) -> None:
        """The question that is asked has now gone through these steps."""
        self.all(
            "update questions set phase = ? where key = ?", " ".join(path), self.about("asked")
        )
        self.note("since", str(time.time()))
        self.note("until", "")

    def ask(self, key: str) -> None:
        """Asks this question; one that was asked before is where it was."""
        if key not in self.known:
            raise Refused(404, f"there is no question {key[:80]!r}")
        self.all("insert or ignore into questions (key) values (?)", key)
        self.note("asked", key)
        self.walk(self.path(key) or [ASKED])

    def countdown(self, minutes: float) -> None:
        self.note("until", str(time.time() + 60 * minutes))

    def clock(self) -> str:
        """What the countdown has left, or how long the step has been open."""
        if until := self.about("until"):
            left = float(until) - time.time()
            return f"{minutes(left)} left" if left > 0 else "time is up"
        step = STEPS.get(self.phase(self.about("asked")))
        since = self.about("since")
        return (
            f"open for {minutes(time.time() - float(since))}"
            if step and step.is_open and since
            else ""
        )

    def offered(self) -> tuple[str, int]:
        """The question that wasn't asked yet and has the most answers, and how many; ("", 0) if
        there is none.
        """
        rows = self.all(
            """select key, voters from answered where voters > 0
            and key not in (select key from questions where phase is not null) order by 2 desc, 1"""
        )
        return rows[0] if rows else ("", 0)

    def measured(self, key: str) -> tuple[Any, str]:
        """The measurement in the question's unit, None if there is none, and where it comes
        from.
        """
        own = self.one("select measured from questions where key = ?", key)
        if own is not None:
            return json.loads(own), "in your teacher's notebook"
        asked = self.known[key]
        where = "in a recorded run" if asked.recorded else "in a run on this machine"
        return asked.measured, "" if asked.kind == "quiz" else where

    def take_back(self) -> None:
        """Deletes the answers to the question that is asked, which begins anew. Whoever has
        answered no other question joins again, so that made-up voters leave room.
        """
        if key := self.about("asked"):
            self.all("delete from votes where key = ?", key)
            self.all("delete from voters where voter not in (select voter from votes)")
            self.walk([ASKED])
            self.note("taken back", secrets.token_hex(4))

    # --- voters and votes ---
    def limit(self, what: str, name: str = "", most: int = MOST_VOTERS) -> None:
        """Refused if this has come too often within this minute."""
        if self.minute != time.monotonic() // 60:
            self.minute = time.monotonic() // 60
            self.requests.clear()
        self.requests[what, name] += 1
        if self.requests[what, name] > min(MOST[what], most):
            raise Refused(429, "too many requests; try again in a minute")

    @property
    def joined(self) -> int:
        return self.one("select count(*) from voters")

    @property
    def seats(self) -> int:
        """How many voters the door lets in, in all."""
        return int(self.about("seats") or MOST_VOTERS)

    def has_room(self) -> None:
        """Refused if the door is closed."""
        if self.joined >= self.seats:
            raise Refused(
                503,
                f"the door is closed: {self.joined} have joined. Ask your teacher to let you in.",
            )

    def join(self, voter: str, address: str = "") -> None:
        """`address`: where the voter comes from."""
        if self.one("select 1 from voters where voter = ?", voter):
            return
        self.has_room()
        self.limit("new", address, self.seats)
        self.all("insert into voters values (?)", voter)

    def vote(self, key: str, voter: str, answer: Any, at: int, address: str = "") -> None:
        """Keeps an answer; None takes it back. Of two in one round, that with the later `at`
        counts, whichever comes first. Refused for what isn't asked here, doesn't answer it, or
        comes too late.
        """
        asked = self.known.get(key)
        phase = self.phase(key)
        if asked is None:
            raise Refused(404, "the wall doesn't have this question")
        step = STEPS[phase or ASKED]
        if not step.vote:
            raise Refused(409, "its measurement is shown already")
        if answer is not None:
            answer = checked(asked, answer)
            if answer is None:
                most = f": at most {asked.most:g}" if asked.most else ""
                raise Refused(422, f"that doesn't answer the question{most}")
        self.join(voter, address)
        nothing_shown = phase == REVEALED and self.counts(key)[0] < MIN_ANSWERS
        one = key, voter, 1 if nothing_shown else step.vote
        if self.one(
            "select 1 from votes where key = ? and voter = ? and round = ? and at > ?", *one, at
        ):
            raise Refused(412, "an answer with a later time is kept")
        self.all(
            "insert or replace into votes values (?, ?, ?, ?, ?)", *one, json.dumps(answer), at
        )

    def last(self, key: str, voter: str) -> tuple[int, Any]:
        """The vote that the voter's last answer counts to, and the answer; (0, None) if there is
        none.
        """
        rows = self.all(
            "select round, answer from votes where key = ? and voter = ? order by round desc",
            key,
            voter,
        )
        return next(((number, json.loads(answer)) for number, answer in rows), (0, None))

    def missing(self, key: str, number: int) -> int:
        """How many of those who have joined have no answer in this vote."""
        given = "select voter from votes where key = ? and round = ? and answer <> 'null'"
        return self.one(f"select count(*) from voters where voter not in ({given})", key, number)

    def rounds(self, key: str) -> list[tuple[Any, Any]]:
        """Each voter's first and second answer, None where there is none, in no order. Who answered
        once has changed nothing, so the second is the same as the first.
        """
        by_voter: dict[str, dict[int, Any]] = {}
        for voter, number, answer in self.all(
            "select voter, round, answer from votes where key = ?", key
        ):
            by_voter.setdefault(voter, {})[number] = json.loads(answer)
        pairs = [(of.get(1), of.get(2, of.get(1))) for of in by_voter.values()]
        random.shuffle(pairs)
        return [pair for pair in pairs if pair != (None, None)]

    def counts(self, key: str) -> tuple[int, int]:
        """How many have answered, and how many of them in both rounds."""
        count = "select count(distinct voter) from votes where key = ? and answer <> 'null'"
        both = (
            f"{count} and round = 2 and voter in (select voter from votes where key = ? and round "
            "= 1)"
        )
        return self.one(count, key), self.one(both, key, key)

    # --- the end of a lesson ---
    def end(self, keep: bool) -> Path | None:
        """Deletes all votes and voters; first writes those answers to questions that MIN_ANSWERS
        gave, if they are to be kept: JSON and CSV, without the voters' numbers. Returns where. The
        next class has a new code.
        """
        path = None
        if keep and (kept := self.kept()):
            path = free(
                self.folder
                / f"{date.today()}-{'-'.join(sorted({one['key'][:2] for one in kept}))}.json"
            )
            lines = [
                (one["key"], *pair, one["asked"]["measured"])
                for one in kept
                for pair in one["votes"]
            ]
            csv.writer(table := io.StringIO()).writerows(
                [x if isinstance(x, str) else json.dumps(x) for x in line]
                for line in [("key", "first", "second", "measured"), *lines]
            )
            write_whole(path.with_suffix(".csv"), table.getvalue())
            write_whole(
                path.with_suffix(".new"), json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
            )
        code = self.about("code")
        key = self.about("key")
        with self.connection:  # all of it, or nothing if the disk is full
            self.connection.execute("begin")
            for name in ("about", "voters", "questions", "votes", "answered"):
                self.connection.execute(f"delete from {name}")
            self.note("key", key)
            self.note("ended", code)
            self.begin()
        if path:
            path.with_suffix(".new").rename(path)  # now the report reads it
        self.connection.execute("pragma wal_checkpoint(truncate)")
        for copy in self.folder.glob(f"{FILE}-new*"):
            copy.unlink()
        return path

    def kept(self) -> list[dict[str, Any]]:
        """The questions with enough answers: as they were asked, with the pairs of answers, and
        what was measured.
        """
        found = []
        known = self.known
        for (key,) in self.all("select distinct key from votes order by key"):
            one = known[key]
            pairs = self.rounds(key)
            if len(pairs) >= MIN_ANSWERS:
                values = {
                    "question": one.text,
                    "kind": one.kind,
                    "unit": one.unit,
                    "names": one.names,
                }
                values["measured"] = self.measured(one.key)[0]
                found.append(
                    {
                        "key": one.key,
                        "asked": values,
                        "again": self.counts(one.key)[1] > 0,
                        "votes": pairs,
                    }
                )
        return found


def minutes(seconds: float) -> str:
    """ "1:24" """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def checked(asked: Question, answer: Any) -> Any:
    """The answer, if it answers the question; else None."""
    if asked.kind == "quiz":
        return answer if answer in [name[1] for name in asked.names] else None
    with suppress(TypeError, ValueError, OverflowError, AttributeError):
        return asked.prediction.checked(answer)
    return None
