"""Finds what students handed in, in a folder or a zip laid out by Moodle, Canvas, nbgrader or a
teacher. Whose a file is, whose.py says.

Everything here is data: nothing is executed, extracted or parsed as a notebook, and no name becomes
a path. If there is something wrong with a hand-in, its `why_not` says so; the others go on. A
lesson for which a student seems to have handed in twice isn't graded: only Moodle's and Canvas's
numbers say that two entries are one student's.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from os.path import splitext
from pathlib import Path
from typing import Any, NamedTuple

from ..teach.exercise_files import keys
from ..teach.words import one_line
from ..units import MiB
from .platforms import nbgrader
from .reading import (
    ASK,
    NOTEBOOK_SIZE,
    STUDENT_SIZE,
    ZIP_ENTRIES,
    CannotBeGraded,
    File,
    Reader,
    for_one,
    what_it_is,
)
from .store import HandIn, Student
from .whose import KEY_LENGTH, PREDICTIONS, Entry, Parts, Sorting, Upload, numbered

# Windows and browsers add an ending, and some hide it
NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")
EXPECTED = (
    "expected a folder or a zip, laid out by Moodle, Canvas or nbgrader, or as name/02_….ipynb"
)
PATH_LENGTH = 1_000  # characters
METADATA_SIZE = 64 * 1024  # bytes at both ends of a notebook, where its metadata may be
MAX_PREDICTIONS = 1_000
MAX_VALUES = 100  # in a prediction
TEXT_LENGTH = 200  # characters
LARGEST_NUMBER = 1e300
SHOWN_NAMES = 5  # names of files that aren't notebooks
CHECKPOINT = "-checkpoint"  # what JupyterLab adds to the name of its copy

VERSION = re.compile(r"(?:-(?:Copy)?| ?\()([0-9]{1,4})\)?\Z")
CHECKED = re.compile(rb"""exercise\((?:\\"|')([0-9]{2}\.\w{1,60})(?:\\"|')\)\.check""")
EDITION = re.compile(rb'"zero_copy"\s{0,9}:\s{0,9}(\{[^{}]{0,999}\})')
CONFLICT = b"\n>>>>>>> "  # ends what git writes where two edits meet; JSON has no such line
COMMIT = re.compile(r"[0-9a-f]{7,64}")
PREDICTION = re.compile(r"[0-9]{2}\.[\w.-]{1,60}")


class Submission(NamedTuple):
    """A student's last notebook for a lesson."""

    student: Student
    hand_in: HandIn
    file: File

    @property
    def lesson(self) -> str:
        return self.hand_in.lesson

    def notebook(self) -> bytes:
        """Reads it again, within limits, or raises CannotBeGraded."""
        if self.hand_in.why_not:
            raise CannotBeGraded(self.hand_in.why_not)
        data = Reader().read(self.file, NOTEBOOK_SIZE, "notebook")
        if sha256(data).hexdigest() != self.hand_in.digest:
            raise CannotBeGraded("the file has changed since it was found; grade again")
        return data


def submissions(collected: Path, students: Collection[Student] = ()) -> Iterator[Submission]:
    """Each student x lesson with a hand-in, once, sorted by the students' keys. None is kept in
    memory. `students` are those of the class list. The last notebook that a student handed in for a
    lesson counts: by time, if that is known, then by the number that Canvas or a browser put after
    its name, then by name. Raises FileNotFoundError if `collected` doesn't exist, and ValueError if
    it is neither a folder nor a zip.
    """
    path = Path(os.path.realpath(collected))
    reader = Reader()
    if not path.exists():
        raise FileNotFoundError(f"there is no {collected}; {EXPECTED}")
    with ExitStack() as held:
        try:
            by_student = Sorting(students, reader, held).by_student(path)
        except CannotBeGraded as error:
            raise ValueError(f"{collected}: {error}; {EXPECTED}") from None
        for key, entries in sorted(by_student.items()):
            reader.left = STUDENT_SIZE
            student = Student(key, one_line(entries[0].name, KEY_LENGTH) or key)
            found = []
            for entry in entries:
                with for_one() as reasons:
                    found += _in_entry(entry, reader)
                found += [_refused(entry, why) for why in reasons]
            found.sort(key=lambda one: (one.hand_in.lesson, one.order))
            for _, of_lesson in groupby(found, lambda one: one.hand_in.lesson):
                yield Submission(student, *_last([*of_lesson]))


def of_one_lesson(handed_in: Sequence[Submission]) -> Iterator[Submission]:
    """If all that show their lesson are of the same, so are those that don't show it; of a student
    who handed in both, the latter stay without.
    """
    lessons = {one.hand_in.lesson for one in handed_in} - {""}
    clear = {one.student.key for one in handed_in if one.hand_in.lesson}
    for student, hand_in, file in handed_in:
        if len(lessons) == 1 and student.key not in clear:
            hand_in = replace(hand_in, lesson=min(lessons))
        yield Submission(student, hand_in, file)


class _Found(NamedTuple):
    """A notebook, or what was handed in for one."""

    entry: Entry
    hand_in: HandIn
    file: File
    order: tuple = ()  # the last one counts


def _last(found: Sequence[_Found]) -> tuple[HandIn, File]:
    """What counts of all that a student has handed in for a lesson: none of it, if only a name says
    that it's one student's.
    """
    *others, (entry, last, file, _) = found
    if len(places := {one.entry.at for one in found}) > 1:
        named = one_line(", ".join("/".join(place) for place in sorted(places)), PATH_LENGTH)
        why = f"more than one hand-in has this student's name ({named}); keep one, and grade again"
        return _came(entry, _hand_in(file, last.lesson, why_not=why)), file
    return _came(entry, last, others=tuple(one.hand_in.file for one in others)), file


def _came(entry: Entry, hand_in: HandIn, **more: Any) -> HandIn:
    """With what gets its student back to the system."""
    system, _, place, number, *_ = entry.owner
    place = one_line(place, PATH_LENGTH)
    return replace(hand_in, system=system, place=place, number=number, **more)


def _refused(entry: Entry, why: str) -> _Found:
    lessons = {numbered(upload.name) for upload in entry.uploads} - {""}
    file = File(entry.at, Path())
    lesson = lessons.pop() if len(lessons) == 1 else ""
    return _Found(entry, _hand_in(file, lesson, why_not=why), file)


def _in_entry(entry: Entry, reader: Reader) -> Iterator[_Found]:
    """All notebooks in an entry. Raises CannotBeGraded if there are none, or too many."""
    if not (hand_ins := entry.hand_ins):
        troubles = [upload.file.trouble for upload in entry.uploads if upload.file.trouble]
        raise CannotBeGraded(
            troubles[0] if troubles else _no_notebook([upload.name for upload in entry.uploads])
        )
    if len(hand_ins) > ZIP_ENTRIES:
        raise CannotBeGraded(
            f"there are more than {ZIP_ENTRIES:,} notebooks in it; hand in one for each lesson"
        )
    is_plain = entry.owner.system == "plain"
    predictions = entry.named(PREDICTIONS)
    for upload in hand_ins:
        when, seconds = _when(entry, upload.file, reader)
        stem = splitext(upload.name)[0]
        for hand_in, file in _in_upload(upload, predictions, reader):
            inner = splitext(file.name)[0]
            in_zip = () if file is upload.file else (file.changed or 0.0, _version(inner), inner)
            order = (
                not inner.endswith(CHECKPOINT),
                seconds,
                _version(stem),
                in_zip,
                not hand_in.why_not,
                stem,
            )
            copied = is_plain and upload.file.copied
            hand_in = replace(hand_in, when=when, late=upload.late, copied=copied)
            yield _Found(entry, hand_in, file, order)


def _in_upload(
    upload: Upload, predictions: Mapping[Parts, File], reader: Reader
) -> Iterator[tuple[HandIn, File]]:
    """The notebook, or all notebooks in the zip."""
    if not upload.name.lower().endswith(".zip"):
        yield _read(upload.file, upload.name, predictions, reader), upload.file
        return
    try:
        with reader.holding(upload.file):
            files = [file for _, file in reader.unzipped(upload.file) if file]
            inside = {file.parts[:-1]: file for file in files if file.name == PREDICTIONS}
            if not (notebooks := [file for file in files if file.name.lower().endswith(NOTEBOOKS)]):
                raise CannotBeGraded(_no_notebook([file.name for file in files]))
            for file in notebooks:
                yield _read(file, file.name, inside, reader), file
    except CannotBeGraded as error:
        yield _hand_in(upload.file, numbered(upload.name), why_not=str(error)), upload.file


def _read(file: File, name: str, predictions: Mapping[Parts, File], reader: Reader) -> HandIn:
    lesson = numbered(name)
    try:
        if splitext(name)[0].endswith(CHECKPOINT):
            raise CannotBeGraded(
                f"it's JupyterLab's checkpoint, a copy that may be older than the notebook; {ASK}"
            )
        data = reader.read(file, NOTEBOOK_SIZE, "notebook")
        if CONFLICT in data:
            raise CannotBeGraded(
                "git has written both sides of a conflict into it (<<<<<<<, >>>>>>>): keep one; "
                f"{ASK}"
            )
        if what := what_it_is(data):
            raise CannotBeGraded(f"it is {what}, not a notebook; {ASK}")
        if not (lesson := lesson or _checked(data)):
            raise CannotBeGraded(f"it has no exercise from any lesson; {ASK}")
    except CannotBeGraded as error:
        return _hand_in(file, lesson, why_not=str(error))
    beside = predictions.get(file.parts[:-1])
    predicted = _predicted(beside, lesson, reader) if beside else {}
    return _hand_in(
        file, lesson, digest=sha256(data).hexdigest(), predictions=predicted, **_edition(data)
    )


def _hand_in(file: File, lesson: str = "", **more: Any) -> HandIn:
    return HandIn(lesson, one_line("/".join(file.parts), PATH_LENGTH), **more)


def _no_notebook(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 60) for name in names[:SHOWN_NAMES])
    more = ", …" if len(names) > SHOWN_NAMES else ""
    return (
        f"there is no notebook in it, only {shown}{more}; {ASK}" if names else f"it is empty; {ASK}"
    )


def _version(stem: str) -> int:
    """The number in "-1" from Canvas, " (1)" from a browser, or "-Copy1" from JupyterLab; 0 without
    any.
    """
    match = VERSION.search(stem[-10:])
    return int(match[1]) if match else 0


def _when(entry: Entry, file: File, reader: Reader) -> tuple[str, float]:
    """When the file was handed in, as ISO 8601 with a zone, and in seconds since 1970; "" and 0.0
    if unknown. Plain folders in a zip have only the seconds, which put a student's notebooks in
    order.
    """
    # beside the assignment's files
    stamp = entry.named(nbgrader.TIMESTAMP).get(file.parts[: len(entry.at) + 1])
    with suppress(CannotBeGraded, ValueError, LookupError, OverflowError, OSError):
        if entry.owner.system == "nbgrader" and stamp:
            moment = nbgrader.moment(reader.read(stamp, 1_000).decode())
            return moment.isoformat(), moment.timestamp()
        if entry.owner.system == "plain" and file.changed:
            moment = datetime.fromtimestamp(file.changed).astimezone()
            return "" if file.inside else moment.isoformat(timespec="seconds"), file.changed
    return "", 0.0


# --- what is in a notebook, without parsing all of it ---------------------------------------------
def _checked(notebook: bytes) -> str:
    """The lesson that most of the notebook's calls of `check` belong to; "" if there are none."""
    known = set(keys())
    found = (match[1].decode(errors="replace") for match in CHECKED.finditer(notebook))
    counted = Counter(key[:2] for key in found if key in known)
    return max(sorted(counted), key=counted.__getitem__, default="")


def _edition(notebook: bytes) -> dict[str, str]:
    """The edition and the commit in a notebook's metadata; {} if they don't look like that."""
    matches = EDITION.findall(notebook[:METADATA_SIZE]) + EDITION.findall(notebook[-METADATA_SIZE:])
    with suppress(ValueError, RecursionError):
        named = json.loads(matches[-1]) if matches else {}
        edition, commit = (named.get(name) for name in ("edition", "commit"))
        if _is_text(edition) and isinstance(commit, str) and COMMIT.fullmatch(commit):
            return {"edition": edition, "commit": commit}
    return {}


def _predicted(file: File, lesson: str, reader: Reader) -> dict[str, Any]:
    """The lesson's predictions; {} if the file is damaged."""
    with suppress(CannotBeGraded, ValueError, RecursionError, AttributeError):
        handed_in = json.loads(reader.read(file, MiB)).items()
        predicted = [
            (key, value)
            for key, value in handed_in
            if PREDICTION.fullmatch(key) and key.startswith(f"{lesson}.") and _is_prediction(value)
        ]
        return dict(predicted[:MAX_PREDICTIONS])
    return {}


def _is_prediction(value: Any) -> bool:
    """A number, a text, a list of both, or numbers by name."""
    if isinstance(value, dict):
        numbers = all(map(_is_number, value.values()))
        return len(value) <= MAX_VALUES and numbers and all(map(_is_text, value))
    values = value if isinstance(value, list) else [value]
    return len(values) <= MAX_VALUES and all(_is_text(one) or _is_number(one) for one in values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT_LENGTH and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < LARGEST_NUMBER
