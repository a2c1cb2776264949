"""Finds what students handed in, in a folder or a zip laid out by Moodle, Canvas, nbgrader or a
teacher.

Everything here is data: nothing is executed, extracted or parsed as a notebook, and no name becomes
a path. If there is something wrong with a hand-in, its `why_not` says so; the others go on.

A file's path tells whose it is. A student's file may be a zip: `hand_in` puts predictions.json into
it.

Moodle    `First Last_1234567_assignsubmission_file_/…`, or the file's name in place of "/"
  (mod/assign/classes/
          downloader.php). The number is the student's in this one assignment (table
            assign_user_mapping).
Canvas    `lovelaceada_LATE_12345_67890_02_copy_a_big_file-1.ipynb`: name, late or not, user, file,
  the file's own name;
          `anon_x1Yz2_67890_…` if anonymous; `lovelaceada_12345_text.html` for no file
            (lib/content_zipper.rb). "-1" is
          a later file of that name (Attachment.make_unique_filename). Like Moodle's, its zips have
            no hand-in times.
nbgrader  `submitted/ada/copying/02_copy_a_big_file.ipynb` (user guide, "Philosophy"), with the time
  in `timestamp.txt`
          ("Late submission plugin"), in UTC unless it names a zone (nbgrader.utils.parse_utc).
plain     `me/02_copy_a_big_file.ipynb`, `me.zip`, `02_me.zip` or `me.ipynb`. A file was handed in
  when it was last
          written, if it wasn't copied here then. Times in a zip have no zone: they only say which
            of two is newer.

The outermost entry says whose a file is: its name comes from the teacher or the system, and only
what is in it from the student. Folders or zips of several students each, such as one for each
lesson ("02", "lesson 02"), may lie around the entries if nothing else lies beside them. One by
itself may be a student's, so it must be a lesson's, or have the name of the zip around it. What
looks like several students' but lies beside one student's isn't graded; nor is a lesson for which
two entries have one name, unless Moodle or Canvas gave both the same number. With a class list,
that name says which of its students it is.
"""

import json
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from hashlib import sha256
from itertools import groupby
from os.path import splitext
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..teach.exercise_files import keys
from ..units import MiB
from .class_list import meant
from .reading import (
    ASK,
    NOTEBOOK_SIZE,
    STUDENT_SIZE,
    ZIP_ENTRIES,
    CannotBeGraded,
    File,
    Listing,
    Reader,
    for_one,
    listed,
    one_line,
    what_it_is,
)
from .store import HandIn, Student

Parts = tuple[str, ...]  # of a path

_MOODLE = r"(?P<name>[^/]*?)(?:_(?P<number>[0-9]+))?_assignsubmission_[a-z]+"
_CANVAS = (
    r"(?P<place>(?:(?=(?:LATE_)?anon_)|(?P<name>[^/]*?)_)(?P<late>LATE_)?(?P<number>[0-9]+|anon_[0-9A-Za-z]+)"
    r"(?:_[0-9]+(?=_.)|(?=_(?:text|link)\.html\Z)))_(?P<file>[^/]+)"
)
FILES = (  # of students, in a folder of the class
    ("moodle", rf"(?P<place>{_MOODLE})_?(?P<file>[^/]*)"),
    ("canvas", _CANVAS),
    ("plain", r"(?:[0-9]{2}_)?(?P<place>(?P<name>[^/]*))(?i:\.zip)"),
    ("plain", r"(?P<place>(?P<name>[^/]*))(?i:\.ipynb(?:\.txt|\.json)?)"),
)
# Windows and browsers add an ending, and some hide it
NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")
LISTED = "listed"
# if two students have the same key, the first keeps it
LAYOUTS = (LISTED, "moodle", "canvas", "nbgrader", "plain")
MOODLE = re.compile(_MOODLE, re.S)
CANVAS = re.compile(_CANVAS, re.S)
NBGRADER = {
    "source",
    "source_with_tests",
    "release",
    "submitted",
    "autograded",
    "feedback",
    "solution",
}  # its folders
EXPECTED = (
    "expected a folder or a zip, laid out by Moodle, Canvas or nbgrader, or as name/02_….ipynb"
)
PREDICTIONS, TIMESTAMP, SUBMITTED = "predictions.json", "timestamp.txt", "submitted"

MAX_DEPTH = 10  # of folders above a student's
KEY_LENGTH, PATH_LENGTH, HASH_LENGTH = 200, 1_000, 8  # characters
METADATA_SIZE = 64 * 1024  # bytes at both ends of a notebook, where its metadata may be
# predictions; values in each; characters in each value
MAX_PREDICTIONS, MAX_VALUES, TEXT_LENGTH = (1_000, 100, 200)
LARGEST_NUMBER = 1e300
SHOWN_NAMES = 5  # names of files that aren't notebooks
CHECKPOINT = "-checkpoint"  # what JupyterLab adds to the name of its copy
ONE_S = "Did one student upload it? Then keep only what counts in it. If not, grade"
SEVERAL = (
    f"it looks like several students' work, in another zip or beside others' work. {ONE_S} it by "
    "itself, or name each of their folders after its lesson (02, 03), and unpack the outer zip "
    "first"
)
LONE = (
    f"all that is in it is {{}}, which looks like several students' work. {ONE_S} that folder or "
    "zip by itself"
)

NUMBERED = re.compile(r"([0-9]{2})_")
LESSON = re.compile(r"(?:lesson[ _-]?)?([0-9]{2})(?![0-9])", re.I)
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
    sorter = _Sorter(students)
    if not path.exists():
        raise FileNotFoundError(f"there is no {collected}; {EXPECTED}")
    try:
        if path.is_dir():
            root = _Folder.of(path.name, listed(path))
        else:
            root = sorter.unzipped(File((), path), stem := splitext(path.name)[0])
            packed = root.folders.get(stem)
            if packed and packed.folders and len(root.folders) == 1 and not root.files:
                # the teacher packed that folder
                root.files = packed.files
                root.folders = packed.folders
            # a student's, as `hand_in` makes it
            if any(file.name == PREDICTIONS for file in root.files):
                root.is_a_system_s = True
        sorter.sort(_Folder("", folders={root.name: root}) if root.is_a_system_s else root)
    except CannotBeGraded as error:
        raise ValueError(f"{collected}: {error}; {EXPECTED}") from None
    with ExitStack() as stack:
        for zipped in sorter.zips:
            stack.enter_context(sorter.reader.holding(zipped))
        for key, entries in sorted(_keyed(sorter.owners).items()):
            sorter.reader.left = STUDENT_SIZE
            first = entries[0]
            student = Student(key, one_line(first.name, KEY_LENGTH) or key)
            candidates = []
            for entry in entries:
                with for_one() as reasons:
                    candidates += list(_candidates(entry, sorter.reader))
                file = File(entry.at, Path())
                lesson = _only_lesson(upload.name for upload in entry.uploads)
                candidates += [
                    ((), _hand_in(file, lesson, why_not=why), file, entry) for why in reasons
                ]
            candidates.sort(key=lambda one: (one[1].lesson, one[0]))
            for lesson, of_lesson in groupby(candidates, lambda one: one[1].lesson):
                *others, (_, last, file, entry) = of_lesson
                places = {entry.at, *(other.at for *_, other in others)}
                if len(places) > 1:
                    named = one_line(
                        ", ".join("/".join(place) for place in sorted(places)), PATH_LENGTH
                    )
                    why_not = (
                        f"more than one hand-in has this student's name ({named}); keep one, and "
                        "grade again"
                    )
                    others = []
                    last = _hand_in(file, lesson, why_not=why_not)
                of = {
                    "place": one_line(entry.place, PATH_LENGTH),
                    "system": entry.layout,
                    "number": entry.number,
                }
                hand_in = replace(
                    last, student=key, others=tuple(other.file for _, other, *_ in others), **of
                )
                yield Submission(student, hand_in, file)


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


# --- whose a file is, by its path alone -----------------------------------------------------------
class _Upload(NamedTuple):
    """A student's file, with the name that the student gave it; `late` if the layout says so."""

    file: File
    name: str
    late: bool


@dataclass(eq=False)
class _Entry:
    """What lies in a folder of the class: a student's, by its name, with all that is in it. `at` is
    where it lies; `several` is what is in it if that looks like several students'.
    """

    layout: str
    at: Parts
    uploads: list[_Upload]
    name: str
    place: str
    number: str = ""
    several: "_Folder | None" = None

    @property
    def hand_ins(self) -> list[_Upload]:
        return [upload for upload in self.uploads if _is_hand_in(upload.name)]

    def named(self, name: str) -> dict[Parts, File]:
        return {
            upload.file.parts[:-1]: upload.file for upload in self.uploads if upload.name == name
        }


@dataclass(eq=False)
class _Folder:
    """A folder, or a zip if it is `zipped`, and what lies in it; `at` is its place below the
    collected folder.
    """

    name: str
    at: Parts = ()
    zipped: File | None = None
    files: list[File] = field(default_factory=list)
    folders: dict[str, "_Folder"] = field(default_factory=dict)

    @classmethod
    def of(
        cls, name: str, members: Listing, at: Parts = (), zipped: File | None = None
    ) -> "_Folder":
        """Files that lie deeper than MAX_DEPTH count as files of the folder at that depth."""
        root = cls(name, at, zipped)
        for parts, file in members:
            folder = root
            for part in parts[: len(parts) - bool(file)][: MAX_DEPTH + 1]:
                folder = folder.folders.setdefault(part, cls(part, (*folder.at, part)))
            folder.files += [file] if file else []
        return root

    @cached_property
    def hand_ins(self) -> list[str]:
        return [file.name for file in self.files if _is_hand_in(file.name)]

    @property
    def holds_folders(self) -> bool:
        return bool(self.folders) and not self.hand_ins

    @property
    def all_files(self) -> list[File]:
        return [
            *(file for folder in self.folders.values() for file in folder.all_files),
            *self.files,
        ]

    @cached_property
    def is_a_system_s(self) -> bool:
        """Is it a hand-in as Moodle names it, or the folder of all hand-ins in nbgrader?"""
        holds_assignments = any(folder.folders for folder in self.folders.values())
        return bool(MOODLE.match(self.name)) or (self.name == SUBMITTED and holds_assignments)

    @cached_property
    def holds_a_system_s(self) -> bool:
        folders = any(
            folder.is_a_system_s or folder.holds_a_system_s for folder in self.folders.values()
        )
        return folders or any(MOODLE.match(file.name) for file in self.files)

    def has_several(self, alone: bool) -> bool:
        """True for a folder of several students, False for a student's; `alone` if nothing lies
        beside it.
        """
        if self.is_a_system_s or self.holds_a_system_s:
            return not self.is_a_system_s
        if hand_ins := self.hand_ins:
            if all(map(CANVAS.fullmatch, hand_ins)):
                return True
            # they may also be named after their students, with or without the lesson first, as in
            # `hand_in`
            zips = [
                lesson
                for name in hand_ins
                if name.lower().endswith(".zip") and (lesson := _numbered(name))
            ]
            unnumbered = len(hand_ins) > 1 and not any(map(_numbered, hand_ins))
            return alone and (unnumbered or len(set(zips)) < len(zips))
        if alone and len(self.folders) > 1:
            return any(
                one.holds_folders or not _numbered(one.name, LESSON)
                for one in self.folders.values()
            )
        return bool(_numbered(self.name, LESSON)) and self.holds_folders


class _Sorter:
    """Sorts files by student; `zips` are the zips on the disk that hold several students' files."""

    def __init__(self, students: Collection[Student]) -> None:
        self.reader = Reader()
        self.students = students
        self.zips: list[File] = []
        self.owners: dict[tuple[str, str, str], dict[Parts, _Entry]] = {}

    def sort(self, folder: _Folder, undivided: bool = False) -> None:
        """Gives each entry of a folder of the class to its owner; or, if all of them are folders or
        zips of several students, named after lessons, and it isn't `undivided`, sorts what is in
        these. (Two students who fill theirs with others' names are two students.)
        """
        if folder.zipped:
            self.zips.append(folder.zipped)
        submitted = folder.folders.get(SUBMITTED)
        if submitted and submitted.is_a_system_s:
            for entry in self._entries(submitted, "nbgrader"):
                self._give(entry)
            folder.folders = {
                name: one for name, one in folder.folders.items() if name not in NBGRADER
            }
            undivided = True
        entries = [
            *self._entries(
                folder, alone=not undivided and len(folder.hand_ins) + len(folder.folders) == 1
            )
        ]
        several = [
            one
            for entry in entries
            if (one := entry.several) and not (one.zipped and one.zipped.inside)
        ]
        if len(several) == len(entries) and not undivided:
            if len(several) == 1 and not LESSON.fullmatch(several[0].name):
                raise CannotBeGraded(LONE.format(one_line(several[0].at[-1], 60)))
            if all(
                _numbered(one.at[-1], LESSON) and not meant(self.students, one.name)
                for one in several
            ):
                for one in several:
                    self.sort(one, undivided=len(several) > 1)
                return
        for entry in entries:
            self._give(entry)

    def _give(self, entry: _Entry) -> None:
        if entry.several:
            entry.uploads = [_Upload(File(entry.at, Path(), trouble=SEVERAL), entry.at[-1], False)]
        key = entry.number or entry.name
        entry.name = entry.name or key  # students who share a key but not a name are two
        # other systems list each file by itself
        at = entry.at if entry.layout in ("nbgrader", "plain") else (key,)
        owner = entry.layout, key, entry.name
        who = entry.number if entry.layout == "canvas" else entry.name
        if student := meant(
            self.students, who, "/".join(entry.at), by_name=entry.layout != "nbgrader"
        ):
            owner = (LISTED, student.key, student.name)
            entry.name = student.name
        same = self.owners.setdefault(owner, {}).setdefault(at, entry)
        if same is not entry:
            same.uploads += entry.uploads

    def unzipped(self, file: File, name: str) -> _Folder:
        """What is in a zip; its name as `hand_in` would give it to a student."""
        zipped = replace(file, of_class=True)
        self.reader.left = STUDENT_SIZE
        return _Folder.of(
            NUMBERED.sub("", name, count=1), self.reader.unzipped(zipped), file.parts, zipped
        )

    def _entries(self, folder: _Folder, layout: str = "", alone: bool = False) -> Iterator[_Entry]:
        """What lies in a folder of the class. With a `layout`, each folder in it is a student's."""
        patterns = [
            both
            for both in FILES
            if both[0] != "canvas" or any(map(CANVAS.fullmatch, folder.hand_ins))
        ]
        for file in folder.files:
            stem = splitext(file.name)[0]
            several = None
            named = {"layout": "plain", "name": stem, "place": stem}
            matches = [
                {"layout": kind, **found.groupdict("")}
                for kind, pattern in patterns
                if (found := re.fullmatch(pattern, file.name, re.S))
            ]
            if not (matches or file.trouble or meant(self.students, stem, "/".join(file.parts))):
                continue
            # the name that ends first is the system's, and the student chose what follows
            named = min(matches, key=lambda match: len(match["place"]), default=named)
            upload = _Upload(file, named.pop("file", file.name), bool(named.pop("late", "")))
            if named["layout"] == "plain" and file.name.lower().endswith(".zip"):
                with for_one():
                    inside = self.unzipped(file, stem)
                    several = inside if inside.has_several(alone) else None
            yield _Entry(at=file.parts, uploads=[upload], several=several, **named)
        for one in folder.folders.values():
            named = {"layout": layout or "plain", "name": one.name}
            if not layout and (match := MOODLE.match(one.name)):
                named = {"layout": "moodle", **match.groupdict("")}
            several = (
                one if not layout and len(one.at) <= MAX_DEPTH and one.has_several(alone) else None
            )
            uploads = [_Upload(file, file.name, False) for file in one.all_files]
            yield _Entry(at=one.at, uploads=uploads, place=one.name, several=several, **named)


def _is_hand_in(name: str) -> bool:
    return name.lower().endswith((*NOTEBOOKS, ".zip"))


def _keyed(
    owners: Mapping[tuple[str, str, str], Mapping[Parts, _Entry]],
) -> dict[str, list[_Entry]]:
    """The students' entries by key, without hidden folders that hold no notebook, such as `.git`. A
    hash follows a key that can't be printed, or that another student has; none if it only has to be
    normalized, like names from macOS.
    """

    def precedence(owner: tuple[str, str, str]) -> tuple:
        layout, key, name = owner
        return _is_changed(key), LAYOUTS.index(layout), one_line(key, KEY_LENGTH) != key, key, name

    keyed: dict[str, list[_Entry]] = {}
    for owner in sorted(owners, key=precedence):
        entries = [*owners[owner].values()]
        if owner[1].startswith(".") and not any(entry.hand_ins for entry in entries):
            continue
        key = one_line(owner[1], KEY_LENGTH)
        if _is_changed(owner[1]) or key in keyed:
            told_apart = "\0".join(owner).encode("utf-8", "surrogatepass")
            digest = sha256(told_apart).hexdigest()
            start = key or "student"
            hashed = (
                f"{start[: KEY_LENGTH - 1 - n]}-{digest[:n]}"
                for n in range(HASH_LENGTH, len(digest) + 1)
            )
            key = next(candidate for candidate in hashed if candidate not in keyed)
        keyed[key] = entries
    return keyed


def _is_changed(key: str) -> bool:
    return not key or one_line(key, KEY_LENGTH) != unicodedata.normalize("NFC", key)


# --- what a file is -------------------------------------------------------------------------------
def _candidates(entry: _Entry, reader: Reader) -> Iterator[tuple[tuple, HandIn, File, _Entry]]:
    """All notebooks in an entry, each between what sorts it, so that the last counts, and the
    entry. Raises CannotBeGraded if there are none, or too many.
    """
    hand_ins = entry.hand_ins
    if not hand_ins:
        trouble = next(
            (upload.file.trouble for upload in entry.uploads if upload.file.trouble), None
        )
        raise CannotBeGraded(trouble or _no_notebook([upload.name for upload in entry.uploads]))
    if len(hand_ins) > ZIP_ENTRIES:
        raise CannotBeGraded(
            f"there are more than {ZIP_ENTRIES:,} notebooks in it; hand in one for each lesson"
        )
    predictions = entry.named(PREDICTIONS)
    timestamps = entry.named(TIMESTAMP) if entry.layout == "nbgrader" else {}
    for upload in hand_ins:
        # beside the assignment's files
        timestamp = timestamps.get(upload.file.parts[: len(entry.at) + 1])
        when, seconds = _when(upload.file, timestamp, entry.layout, reader)
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
            copied = entry.layout == "plain" and upload.file.copied
            yield order, replace(hand_in, when=when, late=upload.late, copied=copied), file, entry


def _in_upload(
    upload: _Upload, predictions: Mapping[Parts, File], reader: Reader
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
        yield _hand_in(upload.file, _numbered(upload.name), why_not=str(error)), upload.file


def _read(file: File, name: str, predictions: Mapping[Parts, File], reader: Reader) -> HandIn:
    lesson = _numbered(name)
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
    return HandIn("", lesson, one_line("/".join(file.parts), PATH_LENGTH), **more)


def _no_notebook(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 60) for name in names[:SHOWN_NAMES])
    more = ", …" if len(names) > SHOWN_NAMES else ""
    return (
        f"there is no notebook in it, only {shown}{more}; {ASK}" if names else f"it is empty; {ASK}"
    )


def _only_lesson(names: Iterable[str]) -> str:
    """The lesson's number at the start of files' names; "" if there is none, or more than one."""
    lessons = {*map(_numbered, names)} - {""}
    return lessons.pop() if len(lessons) == 1 else ""


def _version(stem: str) -> int:
    """The number in "-1" from Canvas, " (1)" from a browser, or "-Copy1" from JupyterLab; 0 without
    any.
    """
    match = VERSION.search(stem[-10:])
    return int(match[1]) if match else 0


def _when(file: File, timestamp: File | None, layout: str, reader: Reader) -> tuple[str, float]:
    """When the file was handed in, as ISO 8601 with a zone, and in seconds since 1970; "" and 0.0
    if unknown. Plain folders in a zip have only the seconds, which put a student's notebooks in
    order.
    """
    with suppress(CannotBeGraded, ValueError, LookupError, OverflowError, OSError):
        # "2015-02-02 14:58:23.948203 America/Los_Angeles", "… UTC" or "… +0100", or ISO 8601
        if timestamp:
            words = reader.read(timestamp, 1_000).decode().split()
            zone = words.pop() if len(words) > 2 and words[-1][0] not in "+-" else None
            moment = datetime.fromisoformat(" ".join(words[:2]) + "".join(words[2:]))
            if zone in time.tzname:
                moment = moment.astimezone()
            elif not moment.tzinfo:
                moment = moment.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
            return moment.isoformat(), moment.timestamp()
        if layout == "plain" and file.changed:
            moment = datetime.fromtimestamp(file.changed).astimezone()
            return "" if file.inside else moment.isoformat(timespec="seconds"), file.changed
    return "", 0.0


# --- what is in a notebook, without parsing all of it ---------------------------------------------
_lessons = cache(lambda: {key[:2] for key in keys()})


def _numbered(name: str, pattern: re.Pattern = NUMBERED) -> str:
    """The lesson's number at the start of a file's name, or a folder's by LESSON; "" if there is
    none.
    """
    match = pattern.match(name)
    return match[1] if match and match[1] in _lessons() else ""


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
    with suppress(CannotBeGraded, ValueError, RecursionError):
        handed_in = json.loads(reader.read(file, MiB))
        if isinstance(handed_in, dict):
            known = (
                key
                for key in handed_in
                if PREDICTION.fullmatch(key) and key.startswith(f"{lesson}.")
            )
            predicted = {key: handed_in[key] for key in known if _is_prediction(handed_in[key])}
            return dict(list(predicted.items())[:MAX_PREDICTIONS])
    return {}


def _is_prediction(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) <= MAX_VALUES and all(
            _is_text(name) and _is_number(of) for name, of in value.items()
        )
    values = value if isinstance(value, list) else [value]
    return len(values) <= MAX_VALUES and all(_is_text(item) or _is_number(item) for item in values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT_LENGTH and value.isprintable()


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < LARGEST_NUMBER
    )
