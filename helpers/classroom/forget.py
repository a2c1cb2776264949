"""`make forget STUDENT=1234567` deletes all data on a student, and rewrites the gradebook and the pages."""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from ..folders import write_whole
from .course import CLASS, GRADES, OVERRIDES, course, path_of
from .outputs import write_all, written
from .pages import one_line, text
from .store import FILE, HandIn, Row, Student, store


def forget(student: str, folder: Path) -> str:
    """Deletes what the store, class.toml and overrides.toml in `folder` hold under this key, and what was written from
    that. Returns a report of it. Raises ValueError, which names the students whose key or name is close, if there is no
    data on this one, or for an error in those files; BlockingIOError while somebody grades."""
    if not student:
        raise ValueError("Say who: make forget STUDENT=…, the key in the first column of gradebook.csv")
    if not (folder / FILE).exists():
        raise ValueError(f"{folder} holds no {FILE}; name the folder with the grades")
    with store(folder) as records:
        about = course(folder)
        names = dict.fromkeys([entry.student for entry in (*records.all(HandIn), *records.all(Row))], "")  # by key
        names |= {key: "" for key, _ in about.overrides} | {one.key: one.name for one in records.all(Student)}
        names |= about.students
        if student not in names:
            write_all(records, about, folder)  # perhaps an earlier deletion was cut off before this
            lower = {name.casefold(): key for key, name in names.items() if name}
            keys = get_close_matches(student, names, n=3)
            keys += [lower[name] for name in get_close_matches(student.casefold(), lower, n=3, cutoff=0.5)]
            near = " or ".join(_called(key, names[key]) for key in dict.fromkeys(keys))
            raise ValueError(f"there is no data on {student!r}{f'; did you mean {near}?' if near else ''}")
        files = [one_line(hand_in.file) for hand_in in records.all(HandIn) if hand_in.student == student]
        before = written(folder)
        counts = [*_from_toml(student, folder), (FILE, records.forget(student))]
        deleted = [f"{name}: {count} {'entries' if count != 1 else 'entry'}" for name, count in counts]
        write_all(records, course(folder), folder)
        deleted += sorted(path.relative_to(folder).as_posix() for path in before - written(folder))
        who, mentions = _called(student, names[student]), list(_mentions([student, names[student]], folder))
        return text("forgotten.txt.j2", who=who, deleted=deleted, mentions=mentions, files=files)


def _called(key: str, name: str) -> str:
    return one_line(f"{key} ({name})" if name and name != key else key)


def _from_toml(student: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The files from which the student's entries could be cut with nothing else changing, and how many there were."""
    for name in (CLASS, OVERRIDES):
        old = (folder / name).read_text(encoding="utf-8")
        table, new = tomllib.loads(old), _cut(old, student)
        students = {key: value for key, value in table.get("students", {}).items() if key != student}
        override = [entry for entry in table.get("override", ()) if entry.get("student") != student]
        count = len(table.get("students", ())) - len(students) + len(table.get("override", ())) - len(override)
        wanted = table | {"students": students, "override": override}
        if count and {"students": {}, "override": []} | _parsed(new) == wanted:
            write_whole(folder / name, new)
            yield name, count


def _cut(toml: str, student: str) -> str:
    """Without what is about this student. Comments after an [[override]] may be about the next one, and stay."""
    pieces = toml.splitlines(keepends=True)
    starts = [i for i, line in enumerate(pieces) if line.lstrip().startswith("[[")]
    for start, end in reversed([*pairwise([*starts, len(pieces)])]):
        while end > start and re.fullmatch(r"(#.*)?", pieces[end - 1].strip()):
            end -= 1
        pieces[start:end] = ["".join(pieces[start:end])]
    rest = []
    for piece in pieces:
        table = _parsed(piece)
        students = [entry.get("student") for entry in table.get("override", ())]
        if table.keys() != {student} and students != [student]:
            rest.append(piece)
    return "".join(rest)


def _parsed(toml: str) -> dict:
    """{} if it isn't TOML."""
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(toml)
    return {}


def _mentions(words: list[str], folder: Path) -> Iterator[str]:
    """The lines of the teacher's files that still contain the key or the name."""
    for name in (CLASS, OVERRIDES):
        for number, line in enumerate((folder / name).read_text(encoding="utf-8").splitlines(), 1):
            if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line) for word in words if word):
                yield f"{name}, line {number}, still names the student"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom.forget", description=__doc__)
    parser.add_argument("student", help="the key: the first column of gradebook.csv")
    parser.add_argument("--out", type=path_of, default=GRADES, help="the folder with the grades")
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(errors="replace")  # a name may hold what the terminal's encoding can't show
    try:
        print(forget(options.student, options.out))
    except (ValueError, BlockingIOError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
