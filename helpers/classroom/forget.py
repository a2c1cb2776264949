"""`make forget STUDENT=1234567` deletes all data on a student, and rewrites the gradebook and the
pages.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..folders import write_whole
from .class_list import LIST, class_list
from .course import GRADES, OVERRIDES, course, path_of
from .outputs import write_all, written
from .pages import one_line, text
from .store import FILE, HandIn, Row, Student, store

NAMED = {  # the keys of the students that a file of the teacher's names, in their order
    OVERRIDES: lambda text: [one.get("student") for one in tomllib.loads(text).get("override", ())],
    LIST: lambda text: [*class_list(text)],
}
PIECES = re.compile(
    r"(?m)^[ \t]*\[\[(?:.*\n)(?:(?![ \t]*\[).*\S.*\n?)*|.*\n|.+\Z"
)  # a line, or an [[override]]


def forget(student: str, folder: Path) -> str:
    """Deletes what the store and the teacher's files in `folder` hold under this key, and what was
    written from that. Returns a report of it. Raises ValueError if there is no data under this key,
    or for an error in those files; BlockingIOError while somebody grades.
    """
    if not (folder / FILE).exists():
        raise ValueError(f"{folder} holds no {FILE}; name the folder with the grades")
    with store(folder) as records:
        about = course(folder)
        names = dict.fromkeys(
            [entry.student for entry in (*records.all(HandIn), *records.all(Row))], ""
        )  # by key
        names |= {key: "" for key, _ in about.overrides} | {
            one.key: one.name for one in records.all(Student)
        }
        names |= {key: one.name for key, one in about.students.items()}
        if student not in names:
            write_all(records, about, folder)  # perhaps an earlier deletion was cut off before this
            raise ValueError(
                f"there is no data on {student!r}; the first column of gradebook.csv has the keys"
            )
        files = [
            one_line(hand_in.file) for hand_in in records.all(HandIn) if hand_in.student == student
        ]
        before = written(folder)
        counts = [*_cut_from(folder, student), (FILE, records.forget(student))]
        deleted = [
            f"{name}: {count} {'entries' if count != 1 else 'entry'}" for name, count in counts
        ]
        write_all(records, course(folder), folder)
        deleted += sorted(path.relative_to(folder).as_posix() for path in before - written(folder))
        name = names[student]
        who = one_line(f"{student} ({name})" if name and name != student else student)
        return text("forgotten.txt.j2", who=who, deleted=deleted, files=files)


def _cut_from(folder: Path, student: str) -> Iterator[tuple[str, int]]:
    """The files from which the student's entries were cut, and how many there were. Comments stay.
    ValueError if something else would change.
    """
    for name, named in NAMED.items():
        path = folder / name
        pieces = PIECES.findall(path.read_text(encoding="utf-8") if path.exists() else "")
        before = named("".join(pieces))
        others = [one for one in before if one != student]
        left = before
        for number in reversed(range(len(pieces))):
            rest = [*pieces[:number], *pieces[number + 1 :]]
            with suppress(ValueError):
                after = named("".join(rest))
                if len(after) < len(left) and [one for one in after if one != student] == others:
                    pieces, left = rest, after
        if left != others:
            raise ValueError(
                f"{path} names {student} beside others: delete that by hand, and run this again"
            )
        if left != before:
            write_whole(path, "".join(pieces))
            yield name, len(before) - len(others)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom.forget", description=__doc__)
    parser.add_argument("student", help="the key: the first column of gradebook.csv")
    parser.add_argument("--out", type=path_of, default=GRADES, help="the folder with the grades")
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(
        errors="replace"
    )  # a name may hold what the terminal's encoding can't show
    try:
        print(forget(options.student, options.out))
    except (ValueError, BlockingIOError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
