"""A course, which its teacher describes in class.toml (points, due dates), overrides.toml and
students.csv.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ..folders import write_whole
from ..teach.exercise_files import keys
from ..teach.exercises import nearest
from .class_list import listed
from .store import Student

TEMPLATES = Path(__file__).parent / "template"
POINTS = 10.0  # for an exercise that class.toml doesn't name
CLASS, OVERRIDES = "class.toml", "overrides.toml"


@dataclass(frozen=True)
class Course:
    title: str = "Zero copy, measured"  # for pages
    points: Mapping[str, float] = field(default_factory=dict)  # by exercise, {"02.chunks": 10.0}
    # by lesson, with a time zone; other work is never late
    due: Mapping[str, datetime] = field(default_factory=dict)
    # who should hand in, by key; empty without a list
    students: Mapping[str, Student] = field(default_factory=dict)
    # the teacher's points (None: the check's stay) and comment: {("ada", "02.chunks"): (8.0,
    # "Nearly.")}
    overrides: Mapping[tuple[str, str], tuple[float | None, str]] = field(default_factory=dict)

    def worth(self, exercise: str) -> float:
        return self.points.get(exercise, POINTS)

    def override(self, student: str, exercise: str) -> tuple[float | None, str]:
        return self.overrides.get((student, exercise), (None, ""))


def course(folder: Path) -> Course:
    """Reads the course from the files in this folder. Writes those that aren't there yet, with
    every line explained and commented out. ValueError names the file and the value that can't be
    right.
    """
    for name in (CLASS, OVERRIDES):
        if not (folder / name).exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(folder / name, (TEMPLATES / name).read_bytes())
    path = folder / CLASS
    students = listed(folder)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        _only(table, {"title", "points", "due"})
        points, due = (_of(table, name, {}) for name in ("points", "due"))
        about = Course(
            title=_of(table, "title", Course.title),
            points={
                nearest(key, keys(), "exercise"): _points(key, number)
                for key, number in points.items()
            },
            due={key: _moment(key, when) for key, when in due.items()},
            students=students,
        )
        path = folder / OVERRIDES
        overrides = {}
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("override", ()):
            if not isinstance(entry, dict) or not {"student", "exercise"} <= set(entry):
                raise ValueError(
                    f"an [[override]] needs a student and an exercise; this one is {entry!r}"
                )
            _only(entry, {"student", "exercise", "points", "comment"})
            exercise = nearest(str(entry["exercise"]), keys(), "exercise")
            points = _points(exercise, entry["points"]) if "points" in entry else None
            overrides[str(entry["student"]), exercise] = points, str(entry.get("comment", ""))
        return replace(about, overrides=overrides)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def path_of(name: str) -> Path:
    """A path as somebody typed it: in `make grade OUT=~/courses`, some shells leave the ~ to us."""
    return Path(name).expanduser()


def _only(table: Mapping[str, Any], allowed: set[str]) -> None:
    if unknown := sorted(set(table) - allowed):
        raise ValueError(f"unknown {unknown[0]!r}; there are: {', '.join(sorted(allowed))}")


def _of(table: Mapping[str, Any], name: str, default: str | dict) -> Any:
    if not isinstance(value := table.get(name, default), type(default)):
        raise ValueError(
            f"{name} is {value!r}; it must be {'a table' if default == {} else 'text in quotes'}"
        )
    return value


def _points(key: str, points: Any) -> float:
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 <= points < 1e6:
        raise ValueError(f"{key} is worth {points!r}; write a number, 0 or more")
    return float(points)


def _moment(key: str, when: Any) -> datetime:
    """A day counts until midnight; a moment without a zone is in this machine's zone."""
    if isinstance(when, date) and not isinstance(when, datetime):
        when = datetime.combine(when, time.max)
    if not isinstance(when, datetime):
        raise ValueError(
            f"lesson {key} is due {when!r}; write 2026-11-30 or 2026-11-30T18:00:00+01:00"
        )
    return when.astimezone()
