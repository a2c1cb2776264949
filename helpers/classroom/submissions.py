"""Finds what students handed in, in a folder or a zip laid out by Moodle, Canvas, nbgrader or a teacher.

Everything here is data: nothing is executed, extracted or parsed as a notebook, and no name becomes a path. If there is
something wrong with a hand-in, its `why_not` says so; the others go on.

Names tell the layouts apart:

plain     `me/02_copy_a_big_file.ipynb`, `me.zip`, `02_me.zip` or `me.ipynb`. The outermost folder is the student,
          except for folders named after a lesson ("02", "lesson 02"), and for a folder that holds all the others.
          A file was handed in when it was last written: `cp -p` keeps that time, `cp` doesn't. The times in a zip have
          no zone; they only say which of two notebooks is newer.
Moodle    "Download all submissions": `First Last_1234567_assignsubmission_file_/…`, a folder for each student and
          kind of submission; or no folders, with the file's name in place of "/" (mod/assign/classes/downloader.php).
          The number is the student's in the table assign_user_mapping, "Participant 1234567" in the grading worksheet;
          it differs in each assignment. There is no hand-in time: the zip's times are those of the download.
Canvas    "Download Submissions": `lovelaceada_LATE_12345_67890_02_copy_a_big_file-1.ipynb`: name, late or not, user,
          file, the file's own name. `anon_x1Yz2_67890_…` in an anonymous assignment; `lovelaceada_12345_text.html` if
          it asked for no file (lib/content_zipper.rb). "-1" is a later file of the same name
          (Attachment.make_unique_filename). There is no hand-in time: the zip's times are those of the download.
nbgrader  `submitted/ada/copying/02_copy_a_big_file.ipynb` (user guide, "Philosophy"). `timestamp.txt` beside it has
          the time, "2015-02-02 14:58:23.948203 America/Los_Angeles" ("Late submission plugin"); without a zone it is
          UTC (nbgrader.utils.parse_utc).

A student's file may be a zip, either from `hand_in`, with a notebook and predictions.json, or any other.
"""

import json
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ..teach.exercise_files import keys
from ..units import MiB
from .reading import ENTRIES, NOTEBOOK, READ, CannotBeGraded, File, Folder, Reader, Zip, ZippedFolder, printable
from .store import HandIn, Student

EXPECTED = "expected a folder or a zip, laid out by Moodle, Canvas or nbgrader, or as name/02_….ipynb"
PREDICTIONS, TIMESTAMP, SUBMITTED = "predictions.json", "timestamp.txt", "submitted"
NBGRADER = {"source", "source_with_tests", "release", "autograded", "feedback", "solution"}  # beside "submitted"
LAYOUTS = ("moodle", "canvas", "nbgrader", "plain")  # if two students have the same key, the earlier layout keeps it

LEVELS = 10  # of folders above a student's
KEY, HASH = 200, 8  # characters
ENDS = 64 * 1024  # bytes at both ends of a notebook, where its metadata may be
PREDICTED, VALUES, WORD = 1_000, 100, 200  # predictions; values in each; characters in each value
LARGEST = 1e300
SHOWN = 5  # names of files that aren't notebooks
ZIP_IN_ZIP = "it is a zip of several hand-ins inside another zip; unpack the outer zip, and grade the folder"

MOODLE = re.compile(r"(?P<place>(?P<name>.*?)(?:_(?P<id>[0-9]+))?_assignsubmission_[a-z]+)_?(?P<file>.*)", re.S)
CANVAS = re.compile(
    r"(?P<place>(?:(?P<name>.*?)_)??(?P<late>LATE_)?(?P<id>[0-9]+|anon_[0-9A-Za-z]+)"
    r"(?:_[0-9]+(?=_.)|(?=_(?:text|link)\.html\Z)))_(?P<file>.+)",
    re.S,
)
NUMBERED = re.compile(r"([0-9]{2})_")
LESSON = re.compile(r"(?:lesson[ _-]?)?([0-9]{2})(?![0-9])", re.I)
VERSION = re.compile(r"(?:-(?:Copy)?| ?\()([0-9]{1,4})\)?\Z")
CHECKED = re.compile(rb"""exercise\((?:\\"|')([0-9]{2}\.\w{1,60})(?:\\"|')\)\.check""")
EDITION = re.compile(rb'"zero_copy"\s{0,9}:\s{0,9}(\{[^{}]{0,999}\})')
COMMIT = re.compile(r"[0-9a-f]{7,64}")
ASKED = re.compile(r"[0-9]{2}\.[\w.-]{1,60}")


@dataclass(frozen=True)
class Found:
    """A student's last notebook for a lesson. `notebook` reads it again, within limits, or raises CannotBeGraded."""

    student: Student
    hand_in: HandIn
    notebook: Callable[[], bytes]


def found(collected: Path) -> Iterator[Found]:
    """Each student x lesson with a hand-in, once, sorted by the students' keys.

    A notebook is read when its turn comes, and isn't kept. The last notebook that a student handed in for a lesson
    counts: by time, if that is known, then by the number that Canvas or a browser put after its name, then by name.
    Raises FileNotFoundError if `collected` doesn't exist; ValueError if it is neither a folder nor a zip.
    """
    reader = Reader()
    handed_in = _Class(reader)
    try:
        handed_in.collect(Path(collected))
    except CannotBeGraded as error:
        raise ValueError(f"{collected}: {error}; {EXPECTED}") from None
    return _all(handed_in, reader)


def _all(handed_in: "_Class", reader: Reader) -> Iterator[Found]:
    with ExitStack() as stack:
        for zipped in handed_in.zips:
            stack.enter_context(reader.holding(zipped))
        for key, owner in sorted(_keyed(filter(_is_student, handed_in.owners.values())).items()):
            reader.left = READ
            yield from _hand_ins(owner, key, reader)


# --- whose a file is, by the names alone ----------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Piece:
    """A notebook or a zip, with the name that the student gave it; `late` if the name says so."""

    file: File
    name: str
    late: bool = False
    timestamp: File | None = None


@dataclass(eq=False)
class _Owner:
    """A student, by the layout's name, and the student's files; `others` are a few names of other files."""

    layout: str
    key: str
    name: str
    place: str
    at: tuple[str, ...]
    pieces: list[_Piece] = field(default_factory=list)
    predictions: dict[tuple[str, ...], File] = field(default_factory=dict)  # by their folder
    others: list[str] = field(default_factory=list)
    trouble: str = ""

    def add(self, file: File, name: str = "", late: bool = False, timestamp: File | None = None) -> None:
        name = name or file.name
        if _is_hand_in(name):
            self.pieces += [_Piece(file, name, late, timestamp)] if len(self.pieces) <= ENTRIES else []
        elif name == PREDICTIONS and len(self.predictions) < ENTRIES:
            self.predictions[file.parts[:-1]] = file
        else:
            self.trouble = self.trouble or file.trouble
            self.others += [name] if len(self.others) <= SHOWN else []


class _Class:
    """Sorts files by student; `zips` are the zips on the disk that hold several students' files."""

    def __init__(self, reader: Reader):
        self.reader = reader
        self.zips: list[Zip] = []
        self.owners: dict[tuple[str, str, str], _Owner] = {}

    def collect(self, collected: Path) -> None:
        path = Path(os.path.realpath(collected))
        if not path.exists():
            raise FileNotFoundError(f"there is no {collected}; {EXPECTED}")
        if path.is_dir():
            folder, name = Folder((), path), path.name
        else:
            self.zips = [Zip(File((), path), of_class=True)]
            folder, name = self.reader.unzipped(self.zips[0]), path.stem
        try:
            files, folders = folder.children()
        except OSError as error:
            raise CannotBeGraded(f"it cannot be read: {error.strerror}") from None
        if MOODLE.fullmatch(name):
            self._of_student(folder, name)
        elif self.zips and any(file.name == PREDICTIONS for file in files):
            self._of_student(folder, _named_after(path.name))
        elif name == SUBMITTED and _have_folders(folders):
            self._of_nbgrader(folder)
        else:
            self._of_class(folder, LEVELS)

    def _of_class(self, folder: Folder | ZippedFolder, levels: int) -> None:
        """Sorts a folder that has students' files and folders in it."""
        files, folders = folder.children()
        hand_ins = [file.name for file in files if _is_hand_in(file.name)]
        alone = len(hand_ins) + len(folders) == 1
        canvas = any(map(CANVAS.fullmatch, hand_ins))
        nbgrader = any(map(_is_submitted, folders))
        for file in files:
            if named := MOODLE.fullmatch(file.name):
                self._moodle(named, named["place"], file.parts).add(file, named["file"])
            elif canvas and (named := CANVAS.fullmatch(file.name)):
                owner = self._owner("canvas", named["id"], named["name"] or named["id"], named["place"], file.parts)
                owner.add(file, named["file"], late=bool(named["late"]))
            elif not self._is_class_zip(file, alone, levels) and (_is_hand_in(file.name) or file.trouble):
                self._plain(_named_after(file.name), file.parts).add(file)
        for inside in folders:
            if nbgrader and inside.name in NBGRADER:
                continue
            if _is_submitted(inside):
                self._of_nbgrader(inside)
            elif levels and _is_of_class(inside, inside.name, alone):
                self._of_class(inside, levels - 1)
            else:
                self._of_student(inside, inside.name)

    def _is_class_zip(self, file: File, alone: bool, levels: int) -> bool:
        """True for a zip of several students' files, which it then sorts too."""
        if not file.name.lower().endswith(".zip"):
            return False
        zipped = Zip(file, of_class=True)
        self.reader.left = READ
        try:
            inside = self.reader.unzipped(zipped)
        except CannotBeGraded:
            return False
        if not levels or not _is_of_class(inside, _stem(file.name), alone):
            return False
        if file.inside:
            self._plain(_named_after(file.name), file.parts).add(replace(file, trouble=ZIP_IN_ZIP))
        else:
            self.zips.append(zipped)
            self._of_class(inside, levels - 1)
        return True

    def _of_student(self, folder: Folder | ZippedFolder, name: str) -> None:
        named = MOODLE.fullmatch(name)
        owner = self._moodle(named, name, folder.parts) if named else self._plain(name, folder.parts)
        for file in folder.below():
            owner.add(file)

    def _of_nbgrader(self, submitted: Folder | ZippedFolder) -> None:
        """Sorts a folder that has a folder for each student, which has a folder for each assignment."""
        files, students = submitted.children()
        for file in files:
            if file.trouble:
                self._owner("nbgrader", file.name, file.name, file.name, file.parts).add(file)
        for student in students:
            owner = self._owner("nbgrader", student.name, student.name, student.name, student.parts)
            inside = list(student.below())
            timestamps = {file.parts[:-1]: file for file in inside if file.name == TIMESTAMP}
            for file in inside:
                if file.name != TIMESTAMP:
                    owner.add(file, timestamp=timestamps.get(file.parts[: len(student.parts) + 1]))

    def _moodle(self, named: re.Match, place: str, at: tuple[str, ...]) -> _Owner:
        return self._owner("moodle", named["id"] or named["name"], named["name"], place, at)

    def _plain(self, name: str, at: tuple[str, ...]) -> _Owner:
        return self._owner("plain", name, name, name, at)

    def _owner(self, layout: str, key: str, name: str, place: str, at: tuple[str, ...]) -> _Owner:
        """The owner of these names, made if need be. Students who share a key but not a name are two owners."""
        return self.owners.setdefault((layout, key, name), _Owner(layout, key, name, place, at))


def _is_hand_in(name: str) -> bool:
    return name.lower().endswith((".ipynb", ".zip"))


def _named_after(file: str) -> str:
    """The student's name in a file's name, where `hand_in` puts the lesson first."""
    stem = _stem(file)
    return (NUMBERED.sub("", stem, count=1) if file.lower().endswith(".zip") else stem) or file


def _is_submitted(folder: Folder | ZippedFolder) -> bool:
    with suppress(OSError):
        return folder.name == SUBMITTED and _have_folders(folder.children()[1])
    return False


def _have_folders(folders: Iterable[Folder | ZippedFolder]) -> bool:
    for folder in folders:
        with suppress(OSError):
            if folder.children()[1]:
                return True
    return False


def _is_of_class(folder: Folder | ZippedFolder, name: str, alone: bool) -> bool:
    """True for a folder of several students, False for a student's. `alone` if there is nothing beside the folder."""
    if MOODLE.fullmatch(name):
        return False
    if _is_of_system(folder, LEVELS):
        return True
    try:
        files, folders = folder.children()
    except OSError:
        return False
    hand_ins = [file.name for file in files if _is_hand_in(file.name)]
    if hand_ins:
        users = [named and (named["id"], named["name"]) for named in map(CANVAS.fullmatch, hand_ins)]
        return (all(users) and (alone or len(set(users)) > 1)) or (alone and _are_of_several(hand_ins))
    if alone:
        lessons = [_is_lesson(inside.name) and not _is_of_class(inside, inside.name, False) for inside in folders]
        return not all(lessons)
    return bool(folders) and _is_lesson(name)


def _is_of_system(folder: Folder | ZippedFolder, levels: int) -> bool:
    """True if there is a folder from Moodle or nbgrader in it."""
    try:
        files, folders = folder.children()
    except OSError:
        return False
    return (
        any(MOODLE.fullmatch(inside.name) for inside in (*files, *folders))
        or any(map(_is_submitted, folders))
        or (levels > 0 and any(_is_of_system(inside, levels - 1) for inside in folders))
    )


def _are_of_several(hand_ins: Sequence[str]) -> bool:
    """True if these files are named after their students, with or without the lesson first, as in `hand_in`."""
    zips = [lesson for name in hand_ins if name.lower().endswith(".zip") and (lesson := _numbered(name))]
    return len(set(zips)) < len(zips) or (len(hand_ins) > 1 and not any(map(_numbered, hand_ins)))


def _is_lesson(name: str) -> bool:
    named = LESSON.match(name)
    return bool(named) and named[1] in _lessons()


def _is_student(owner: _Owner) -> bool:
    """False for a hidden folder without a notebook, such as `.git`."""
    return bool(owner.pieces or owner.trouble or not owner.key.startswith("."))


def _keyed(owners: Iterable[_Owner]) -> dict[str, _Owner]:
    """The students by key. A key that can't be printed, or that another student has, gets a hash after it.

    A key that only has to be put into Unicode's normal form C, like names from macOS, gets no hash.
    """
    keyed: dict[str, _Owner] = {}
    for owner in sorted(owners, key=_claim):
        key = printable(owner.key, KEY)
        told_apart = "\0".join((owner.layout, owner.key, owner.name)).encode("utf-8", "surrogatepass")
        digest = sha256(told_apart).hexdigest()
        hashed = (f"{(key or 'student')[: KEY - 1 - n]}-{digest[:n]}" for n in range(HASH, len(digest) + 1))
        wanted = (key, *hashed) if _is_kept(owner.key) else hashed
        keyed[next(candidate for candidate in wanted if candidate not in keyed)] = owner
    return keyed


def _claim(owner: _Owner) -> tuple:
    """A sort key that puts the students who keep their keys first."""
    return (
        not _is_kept(owner.key),
        LAYOUTS.index(owner.layout),
        printable(owner.key, KEY) != owner.key,
        owner.key,
        owner.name,
    )


def _is_kept(key: str) -> bool:
    return printable(key, KEY) == unicodedata.normalize("NFC", key) != ""


# --- what a file is -------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _Notebook:
    """A student's notebook for a lesson, or whatever is there instead. In the order of `order`, the last counts."""

    file: File
    lesson: str = ""
    why_not: str = ""
    digest: str = ""
    edition: str = ""
    commit: str = ""
    predictions: dict[str, Any] = field(default_factory=dict)
    when: str = ""
    late: bool = False
    order: tuple = (0.0, 0, "")  # in its zip, if it is in a zip


def _hand_ins(owner: _Owner, key: str, reader: Reader) -> Iterator[Found]:
    student = Student(key, printable(owner.name) or key, place=printable(owner.place))
    by_lesson: dict[str, list[_Notebook]] = {}
    for notebook in sorted(_notebooks(owner, reader), key=lambda one: one.order):
        by_lesson.setdefault(notebook.lesson, []).append(notebook)
    for lesson, (*others, notebook) in sorted(by_lesson.items()):
        hand_in = HandIn(
            student=key,
            lesson=lesson,
            file=_path(notebook.file),
            digest=notebook.digest,
            when=notebook.when,
            late=notebook.late,
            edition=notebook.edition,
            why_not=notebook.why_not,
            predictions=notebook.predictions,
            commit=notebook.commit,
            others=tuple(_path(other.file) for other in others),
        )
        yield Found(student, hand_in, partial(_again, notebook))


def _again(notebook: _Notebook) -> bytes:
    if notebook.why_not:
        raise CannotBeGraded(notebook.why_not)
    data = Reader().read(notebook.file, NOTEBOOK, "notebook")
    if sha256(data).hexdigest() != notebook.digest:
        raise CannotBeGraded("the file has changed since it was found; grade again")
    return data


def _notebooks(owner: _Owner, reader: Reader) -> Iterator[_Notebook]:
    """All notebooks that a student handed in. If there is none, yields one whose `why_not` says so."""
    why_not = ""
    if not owner.pieces:
        why_not = owner.trouble or _no_notebook(owner.others)
    elif len(owner.pieces) > ENTRIES:
        why_not = f"there are more than {ENTRIES:,} notebooks in it; hand in one for each lesson"
    if why_not:
        yield _Notebook(File(owner.at, Path()), why_not=why_not)
        return
    for piece in owner.pieces:
        when, seconds = _when(owner, piece, reader)
        name = _stem(piece.name)
        for notebook in _in_piece(owner, piece, reader):
            notebook.order = (seconds, _version(name), *notebook.order, not notebook.why_not, name)
            notebook.when, notebook.late = when, piece.late
            yield notebook


def _in_piece(owner: _Owner, piece: _Piece, reader: Reader) -> Iterator[_Notebook]:
    """The notebook, or all notebooks in the zip."""
    if not piece.name.lower().endswith(".zip"):
        yield _read(piece.file, piece.name, owner.predictions, reader)
        return
    zipped = Zip(piece.file)
    try:
        with reader.holding(zipped):
            files = list(reader.unzipped(zipped).below())
            notebooks = [file for file in files if file.name.lower().endswith(".ipynb")]
            predictions = {file.parts[:-1]: file for file in files if file.name == PREDICTIONS}
            if not notebooks:
                raise CannotBeGraded(_no_notebook([file.name for file in files]))
            for file in notebooks:
                notebook = _read(file, file.name, predictions, reader)
                notebook.order = (file.changed or 0.0, _version(_stem(file.name)), _stem(file.name))
                yield notebook
    except CannotBeGraded as error:
        yield _Notebook(piece.file, _numbered(piece.name), str(error))


def _read(file: File, name: str, predictions: Mapping[tuple[str, ...], File], reader: Reader) -> _Notebook:
    notebook = _Notebook(file, _numbered(name))
    try:
        data = reader.read(file, NOTEBOOK, "notebook")
    except CannotBeGraded as error:
        notebook.why_not = str(error)
        return notebook
    notebook.digest = sha256(data).hexdigest()
    notebook.edition, notebook.commit = _edition(data)
    notebook.lesson = notebook.lesson or _checked(data)
    if not data:
        notebook.why_not = "the notebook is empty"
    elif not notebook.lesson:
        notebook.why_not = "it has no exercise from any lesson"
    elif beside := predictions.get(file.parts[:-1]):
        notebook.predictions = _predicted(beside, notebook.lesson, reader)
    return notebook


def _no_notebook(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, 60) for name in names[:SHOWN])
    more = ", …" if len(names) > SHOWN else ""
    return f"there is no notebook in it, only {shown}{more}" if names else "there is no notebook in it; it is empty"


def _path(file: File) -> str:
    return printable("/".join(file.parts), 1_000)


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def _version(stem: str) -> int:
    """The number in "-1" from Canvas, " (1)" from a browser, or "-Copy1" from JupyterLab; 0 without any."""
    found = VERSION.search(stem[-10:])
    return int(found[1]) if found else 0


def _when(owner: _Owner, piece: _Piece, reader: Reader) -> tuple[str, float]:
    """When the file was handed in, as ISO 8601 with a zone, and in seconds since 1970; "" and 0.0 if unknown.

    Plain folders in a zip have only the seconds, which put a student's notebooks in order.
    """
    with suppress(CannotBeGraded, ValueError, LookupError, OverflowError, OSError):
        if piece.timestamp:
            moment = _moment(reader.read(piece.timestamp, 1_000).decode())
            return moment.isoformat(), moment.timestamp()
        if owner.layout == "plain" and piece.file.changed:
            moment = datetime.fromtimestamp(piece.file.changed).astimezone()
            return "" if piece.file.inside else moment.isoformat(timespec="seconds"), piece.file.changed
    return "", 0.0


def _moment(text: str) -> datetime:
    """Reads nbgrader's "2015-02-02 14:58:23.948203 America/Los_Angeles", "… UTC" or "… +0100", or ISO 8601."""
    words = text.split()
    if len(words) < 3:
        moment = datetime.fromisoformat(" ".join(words))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    day, clock, zone = words
    if re.match("[+-]", zone):
        return datetime.fromisoformat(f"{day} {clock}{zone}")
    moment = datetime.fromisoformat(f"{day} {clock}")
    return moment.astimezone() if zone in time.tzname else moment.replace(tzinfo=ZoneInfo(zone))


# --- what is in a notebook, without parsing all of it ---------------------------------------------------------
@cache
def _exercises() -> frozenset[str]:
    return frozenset(keys())


@cache
def _lessons() -> frozenset[str]:
    return frozenset(key[:2] for key in _exercises())


def _numbered(name: str) -> str:
    """The lesson's number at the start of a file's name; "" if there is none."""
    found = NUMBERED.match(name)
    return found[1] if found and found[1] in _lessons() else ""


def _checked(notebook: bytes) -> str:
    """The lesson that most of the notebook's calls of `check` belong to; "" if there are none."""
    found = (match[1].decode(errors="replace") for match in CHECKED.finditer(notebook))
    counted = Counter(key[:2] for key in found if key in _exercises())
    return max(sorted(counted), key=counted.__getitem__, default="")


def _edition(notebook: bytes) -> tuple[str, str]:
    """The edition and the commit in a notebook's metadata; "" for both if they don't look like that."""
    found = EDITION.findall(notebook[:ENDS]) + EDITION.findall(notebook[-ENDS:])
    with suppress(ValueError, RecursionError):
        named = json.loads(found[-1]) if found else {}
        edition, commit = (named.get(name) for name in ("edition", "commit"))
        if _is_word(edition) and isinstance(commit, str) and COMMIT.fullmatch(commit):
            return edition, commit
    return "", ""


def _predicted(file: File, lesson: str, reader: Reader) -> dict[str, Any]:
    """The lesson's predictions; {} if the file is damaged."""
    with suppress(CannotBeGraded, ValueError, RecursionError):
        handed_in = json.loads(reader.read(file, MiB))
        if isinstance(handed_in, dict):
            known = (key for key in handed_in if ASKED.fullmatch(key) and key.startswith(f"{lesson}."))
            predicted = {key: handed_in[key] for key in known if _is_prediction(handed_in[key])}
            return dict(list(predicted.items())[:PREDICTED])
    return {}


def _is_prediction(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) <= VALUES and all(_is_word(name) and _is_number(of) for name, of in value.items())
    values = value if isinstance(value, list) else [value]
    return len(values) <= VALUES and all(_is_word(item) or _is_number(item) for item in values)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= WORD and value.isprintable()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
