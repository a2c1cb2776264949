"""`make forget STUDENT=1234567` deletes all data on a student, and rewrites the gradebook and the
pages. The lines in your own files are yours to delete: it names them, and does nothing before.
"""

import argparse
import sys
from pathlib import Path

from ..folders import GRADES
from ..teach.words import one_line
from .class_list import LIST
from .course import OVERRIDES, Course, course, path_of
from .outputs import write_all, written
from .pages import text
from .store import FILE, store


def forget(student: str, folder: Path) -> str:
    """Deletes what the store in `folder` holds under this key, and what was written from that.
    Returns a report of it. Raises ValueError if there is no data under this key, or if the
    teacher's files name it; BlockingIOError while somebody grades.
    """
    if not (folder / FILE).exists():
        raise ValueError(f"{folder} holds no {FILE}; name the folder with the grades")
    with store(folder) as records:
        about = course(folder)
        if lines := _lines(student, folder, about):
            raise ValueError(
                "\n  ".join([f"First delete what your files say of {student}:", *lines])
            )
        own = [one for one in records.all() if one.student.key == student]
        if not own:
            write_all(records, about, folder)  # perhaps an earlier deletion was cut off before this
            raise ValueError(
                f"there is no data on {student!r}; the first column of gradebook.csv has the keys"
            )
        before = written(folder)
        records.forget(student)
        write_all(records, about, folder)
        deleted = sorted(path.relative_to(folder).as_posix() for path in before - written(folder))
        name = own[0].student.name
        return text(
            "forgotten.txt.j2",
            who=one_line(f"{student} ({name})" if name and name != student else student),
            deleted=[f"{FILE}: {len(own)} {'answers' if len(own) != 1 else 'answer'}", *deleted],
            files=dict.fromkeys(one_line(one.hand_in.file) for one in own),
        )


def _lines(student: str, folder: Path, about: Course) -> list[str]:
    """The lines of the teacher's files that give something to the student."""
    found = []
    for name, keys in ((OVERRIDES, [key for key, _ in about.overrides]), (LIST, about.students)):
        if student in keys:
            lines = enumerate((folder / name).read_text(encoding="utf-8").splitlines(), 1)
            own = [f"{name}, line {n}: {one_line(line)}" for n, line in lines if student in line]
            found += own or [f"{name}: what makes up {student}"]
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom.forget", description=__doc__)
    parser.add_argument("student", help="the key: the first column of gradebook.csv")
    parser.add_argument("--out", type=path_of, default=GRADES, help="the folder with the grades")
    options = parser.parse_args(arguments)
    # a name may hold what the terminal's encoding can't show
    sys.stdout.reconfigure(errors="replace")
    try:
        print(forget(options.student, options.out))
    except (ValueError, BlockingIOError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
