"""The students' edition: the lessons as a folder and as a zip, without what is for their teacher
only.

It holds what is committed. The same commit makes the same bytes everywhere, so that a class can
compare checksums: files are stored, not compressed, because two versions of zlib may compress the
same bytes differently. It includes the quizzes' right choices and feedback, because quizzes run at
home, and nobody grades them.
"""

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Collection, Mapping
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from string import Template

from ..edition import CLASS_EDITION, Edition, edition, git
from ..folders import BUILD, ROOT
from ..safe_files import write_folder
from ..teach.exercises import nearest
from ..units import in_words
from .course import course
from .course_of_nbgrader import NotReady, make_source

# without the edition's date, so that a newer edition unzips over an older one
NAME = "zero-copy-measured"
FOLDER = BUILD / "class"
WORK = "my_lessons"  # a student's own copies of the lessons are in there
README, TABLE, MAKEFILE = "helpers/classroom/template/student.md", "README.md", "Makefile"
WORKSHOP = "# --- the workshop"  # from this line on, the Makefile isn't for students
# An exercise's answers are in folders of their own.
IN_IT = re.compile(
    r"""LICENSE | environment\.yml | pyproject\.toml
    | environment/(find-python\.sh | requirements\.lock)
    | helpers/(?!classroom/|publish/|wall/).+
    | notebooks/[^.].+
    | cases/.+
    | wheel/.+
    | data/(?!questions\.json|recorded/02-three\.png).+
    | exercises/\d\d/(quizzes\.(py|toml) | \w+/(?!solution\.)\w+\.\w+)
    """,
    re.VERBOSE,
)
OF_A_LESSON = re.compile(r"(?:notebooks|exercises)/(\d\d)[_/]")
LINK = re.compile(r"\[([^\]]+)\]\((\d\d_\w+\.ipynb)\)")


def hand_out(lessons: Collection[str] = ()) -> list[str]:
    """Replaces build/class/ with the edition of these lessons ("02") and 00, or of all lessons: a
    folder, its zip, and the zip's SHA-256. Returns lines that say what was written. On an error,
    build/class/ stays as it was. Raises NotReady without git, or if somebody has worked in the
    folder; ValueError for an unknown lesson.
    """
    of = last_commit()
    if (FOLDER / NAME / WORK).exists():
        raise NotReady(
            f"{FOLDER / NAME / WORK} is somebody's work, and would be lost. Move it away."
        )
    files = student_files(committed(of.commit), of, lessons)
    archive = zipped(files, of)
    digest = sha256(archive).hexdigest()
    beside = {f"{NAME}.zip": archive, f"{NAME}.zip.sha256": f"{digest}  {NAME}.zip\n".encode()}
    write_folder(FOLDER, {f"{NAME}/{name}": data for name, data in files.items()} | beside)
    numbers = {match[1] for name in files if (match := OF_A_LESSON.match(name))}
    lines = [
        (
            f"{FOLDER / NAME}.zip: edition {of}, {len(files)} files,"
            f" {in_words(len(archive), 'bytes')}"
        ),
        f"Lessons: {', '.join(sorted(numbers))}",
        f"SHA-256: {digest}",
    ]
    if changed := not_committed():
        lines.append(f"Not in it, because not committed: {changed}")
    return lines


def last_commit() -> Edition:
    """The edition that is committed. NotReady without git."""
    if not (commit := edition().commit):
        raise NotReady(
            f"git finds no commit in {ROOT}: see `git status`. It takes a clone, not a copy of the "
            "files."
        )
    return Edition(edition().day, commit)


def not_committed() -> str:
    """The first few files that are not as they were committed; "" if all are."""
    changed = [
        line[3:]
        for line in git("status", "--porcelain", "--no-renames", "-z").decode().split("\0")
        if line
    ]
    return f"{', '.join(changed[:5])}{', …' if len(changed) > 5 else ''}"


def committed(commit: str) -> dict[str, bytes]:
    """The files of a commit that an edition is made from, as they were committed: git converts no
    line ends here.
    """
    listed = git("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
    names = [name for name in listed if IN_IT.fullmatch(name) or name in (README, TABLE, MAKEFILE)]
    contents = BytesIO(
        git("cat-file", "--batch", given="".join(f"{commit}:{name}\n" for name in names).encode())
    )
    files = {}
    for name in names:
        _, _, size = contents.readline().split()
        files[name] = contents.read(int(size))
        contents.readline()
    return files


def student_files(
    tree: Mapping[str, bytes], of: Edition, lessons: Collection[str] = ()
) -> dict[str, bytes]:
    """The files of the students' edition by name, made from a commit's: for these lessons and 00,
    or for all.
    """
    numbers = {name: match[1] for name in tree if (match := OF_A_LESSON.match(name))}
    available = sorted(set(numbers.values()))
    chosen = (
        {"00", *(nearest(lesson.zfill(2), available, "lesson") for lesson in lessons)}
        if lessons
        else {*available}
    )
    files = {
        name: tree[name]
        for name in tree
        if IN_IT.fullmatch(name) and numbers.get(name, "00") in chosen
    }
    present = {name.removeprefix("notebooks/") for name in files}
    files |= {
        name: _notebook(files[name], of, present) for name in files if name.endswith(".ipynb")
    }
    table = re.findall(r"^\| \d\d \|.*\n", tree[TABLE].decode(), re.MULTILINE)
    rows = "".join(row for row in table if row[2:4] in chosen)
    return files | {
        CLASS_EDITION.relative_to(
            ROOT
        ).as_posix(): f'day = "{of.day}"\ncommit = "{of.commit}"\n'.encode(),
        "Makefile": tree[MAKEFILE].partition(WORKSHOP.encode())[0].rstrip() + b"\n",
        "README.md": (
            Template(tree[README].decode()).substitute(edition=of, lessons=rows.rstrip()).encode()
        ),
    }


def _notebook(data: bytes, of: Edition, present: Collection[str]) -> bytes:
    """The notebook with its edition, and links only to lessons that are `present`, in the form that
    Jupyter stores.
    """
    kept = partial(LINK.sub, lambda link: link[0] if link[2] in present else link[1])
    notebook = json.loads(data)
    notebook["metadata"]["zero_copy"] = {"edition": str(of), "commit": of.commit}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = [kept(line) for line in cell["source"]]
    return (json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def zipped(files: Mapping[str, bytes], of: Edition) -> bytes:
    """A zip of these files, in the folder NAME/."""
    year, month, day = map(int, of.day.split("-"))
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{NAME}/{name}", (year, month, day, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16  # Unix: a file, rw-r--r--
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.classroom.hand_out", description="The students' edition."
    )
    parser.add_argument(
        "lessons", nargs="*", help="the lessons' numbers, 02 03; all if you give none"
    )
    parser.add_argument(
        "--nbgrader",
        type=Path,
        metavar="COURSE",
        help="write the source/ of an nbgrader course, too",
    )
    options = parser.parse_args()
    try:
        print(*hand_out(options.lessons), sep="\n")
        if at := options.nbgrader:
            chosen = sorted((FOLDER / NAME / "notebooks").glob("*.ipynb"))
            print(*make_source(at, chosen, course(at / "grades")), sep="\n")
    except (NotReady, ValueError, OSError) as error:
        sys.exit(f"Nothing was written. {error}")


if __name__ == "__main__":
    main()
