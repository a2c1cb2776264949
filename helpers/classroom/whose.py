"""Whose a file is, by its path alone: the outermost entry's name says so, as a system or the
teacher gave it, and nothing that lies below or beside it.

Folders or zips of several students each, one for each lesson, may lie around the entries if nothing
else lies beside them. They may be students', so each has a lesson's name and no more ("02", "lesson
02"); one by itself may also have the name of the zip around it. What looks like several students'
but lies beside one student's isn't graded. With a class list, the name says which of its students
it is.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from os.path import splitext
from pathlib import Path
from typing import NamedTuple

from ..teach.exercise_files import keys
from ..teach.words import one_line
from . import platforms
from .class_list import meant
from .platforms import Owner, canvas, moodle, nbgrader
from .reading import STUDENT_SIZE, CannotBeGraded, File, Listing, Reader, for_one, listed
from .store import Student

Parts = tuple[str, ...]  # of a path
Whose = tuple[str, str, str]  # the system or LISTED, the student's key there, and the name

HAND_IN = re.compile(r"(?is).*(\.ipynb(\.txt|\.json)?|\.zip)")
PREDICTIONS = "predictions.json"  # beside a notebook, in the zip that `hand_in` makes
NUMBERED = re.compile(r"([0-9]{2})_")
LESSON = re.compile(r"(?:lesson[ _-]?)?([0-9]{2})(?![0-9])", re.I)
KEY_LENGTH = 200  # characters
HASH_LENGTH = 8
LISTED = "listed"
# if two students have the same key, the first keeps it
PRECEDENCE = (LISTED, "moodle", "canvas", "nbgrader", "plain")
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


class Upload(NamedTuple):
    file: File
    name: str  # that the student gave it
    late: bool = False  # if the system says so


@dataclass(eq=False)
class Entry:
    """What lies in a folder of the class: a student's, by its name, with all that is in it."""

    owner: Owner
    at: Parts
    uploads: list[Upload]
    several: "Folder | None" = None  # what is in it, if that looks like several students'
    name: str = ""  # of the student, as the class list has it

    @property
    def hand_ins(self) -> list[Upload]:
        return [upload for upload in self.uploads if HAND_IN.fullmatch(upload.name)]

    def named(self, name: str) -> dict[Parts, File]:
        """Its files of this name, by their folders."""
        files = [upload.file for upload in self.uploads if upload.name == name]
        return {file.parts[:-1]: file for file in files}


@dataclass(eq=False)
class Folder:
    """A folder, or a zip if it is `zipped`, with all that lies below; `at` is its place below the
    collected folder.
    """

    name: str
    members: Listing
    at: Parts = ()
    zipped: File | None = None

    @cached_property
    def files(self) -> list[File]:
        return [file for parts, file in self.members if file and len(parts) == 1]

    @cached_property
    def folders(self) -> dict[str, "Folder"]:
        below: dict[str, Listing] = defaultdict(list)
        for parts, file in self.members:
            if len(parts) > bool(file):
                below[parts[0]].append((parts[1:], file))
        return {name: Folder(name, of, (*self.at, name)) for name, of in below.items()}

    @cached_property
    def hand_ins(self) -> list[str]:
        return [file.name for file in self.files if HAND_IN.fullmatch(file.name)]

    @property
    def holds_folders(self) -> bool:
        return bool(self.folders) and not self.hand_ins

    @cached_property
    def is_a_systems(self) -> bool:
        """Is it a hand-in as Moodle names it, or the folder of all hand-ins in nbgrader?"""
        deepest = max((len(parts) - bool(file) for parts, file in self.members), default=0)
        return _is_a_systems(self.name, deepest)

    @property
    def holds_a_systems(self) -> bool:
        return any(
            _is_a_systems(part, len(parts) - bool(file) - at)
            for parts, file in self.members
            for at, part in enumerate(parts, 1)
        )

    def has_several(self, alone: bool) -> bool:
        """True for a folder of several students, False for a student's; `alone` if nothing lies
        beside it.
        """
        if self.is_a_systems:
            return False
        if self.holds_a_systems:
            return True
        if self.hand_ins:
            if all(map(canvas.FORM.fullmatch, self.hand_ins)):
                return True
            # they may also be named after their students, with or without the lesson first, as in
            # `hand_in`
            if not any(map(numbered, self.hand_ins)):
                return alone and len(self.hand_ins) > 1
            zips = Counter(numbered(name) for name in self.hand_ins if name[-4:].lower() == ".zip")
            return alone and any(lesson and of > 1 for lesson, of in zips.items())
        if alone and len(self.folders) > 1:
            folders = self.folders.values()
            return any(one.holds_folders or not numbered(one.name, LESSON) for one in folders)
        return bool(numbered(self.name, LESSON)) and self.holds_folders


def _is_a_systems(name: str, folders_below: int) -> bool:
    return bool(moodle.FORM.fullmatch(name)) or (name == nbgrader.SUBMITTED and folders_below > 1)


_lessons = cache(lambda: {key[:2] for key in keys()})


def numbered(name: str, pattern: re.Pattern = NUMBERED) -> str:
    """The lesson's number at the start of a file's name, or a folder's by LESSON; "" if there is
    none.
    """
    match = pattern.match(name)
    return match[1] if match and match[1] in _lessons() else ""


@dataclass
class Sorting:
    """Sorts what was collected by student. What is in a zip of several students' is read from the
    zip while it's `held` open.
    """

    students: Collection[Student]
    reader: Reader
    held: ExitStack

    def by_student(self, path: Path) -> dict[str, list[Entry]]:
        """The entries in a folder or a zip by the student's key. CannotBeGraded if it's neither, or
        if nobody could say whose they are.
        """
        if path.is_dir():
            root = Folder(path.name, listed(path))
        else:
            root = self._unzipped(File((), path), stem := splitext(path.name)[0])
            packed = root.folders.get(stem)
            if packed and packed.folders and len(root.folders) == 1 and not root.files:
                # the teacher packed that folder
                root = Folder(root.name, packed.members, packed.at, root.zipped)
            if any(file.name == PREDICTIONS for file in root.files):
                root.is_a_systems = True  # a student's, as `hand_in` makes it
        around = Folder("", [])
        around.folders = {root.name: root}
        return self._keyed(self._entries(around if root.is_a_systems else root))

    def _entries(self, folder: Folder, undivided: bool = False) -> Iterator[Entry]:
        """Those in a folder of the class; or, if all in it are folders or zips of several students,
        named after lessons, and it isn't `undivided`, those in these. (Two students who fill theirs
        with others' names are two students.)
        """
        if folder.zipped:
            self.held.enter_context(self.reader.holding(folder.zipped))
        submitted = folder.folders.get(nbgrader.SUBMITTED)
        if submitted and submitted.is_a_systems:
            yield from self._named(submitted, system=nbgrader)
            folder.folders = {
                name: one for name, one in folder.folders.items() if name not in nbgrader.FOLDERS
            }
            undivided = True
        alone = not undivided and len(folder.hand_ins) + len(folder.folders) == 1
        found = [*self._named(folder, alone)]
        several = [
            one
            for entry in found
            if (one := entry.several) and not (one.zipped and one.zipped.inside)
        ]
        if len(several) == len(found) and not undivided:
            if len(several) == 1 and not LESSON.fullmatch(several[0].name):
                raise CannotBeGraded(LONE.format(one_line(several[0].at[-1], 60)))
            if all(
                LESSON.fullmatch(one.name)
                and numbered(one.name, LESSON)
                and not meant(self.students, one.name)
                for one in several
            ):
                for one in several:
                    yield from self._entries(one, undivided=len(several) > 1)
                return
        yield from found

    def _named(
        self, folder: Folder, alone: bool = False, system: object = platforms
    ) -> Iterator[Entry]:
        """What lies in a folder of the class, where `system` says whose."""
        names = [*(file.name for file in folder.files), *(f"{name}/" for name in folder.folders)]
        owners = platforms.read(names) | system.read(names)
        for file in folder.files:
            stem = splitext(file.name)[0]
            several = None
            owner = owners.get(file.name)
            if not owner and (file.trouble or meant(self.students, stem, "/".join(file.parts))):
                owner = Owner("plain", stem, stem, file=file.name)
            if not owner:
                continue
            if owner.system == "plain" and file.name.lower().endswith(".zip"):
                with for_one():
                    inside = self._unzipped(file, stem, alone or bool(LESSON.fullmatch(stem)))
                    several = inside if inside.has_several(alone) else None
            yield Entry(owner, file.parts, [Upload(file, owner.file, owner.late)], several)
        for name, one in folder.folders.items():
            several = one if system is platforms and one.has_several(alone) else None
            files = [file for _, file in one.members if file]
            # the last counts: of two that are the same otherwise, the one that isn't in a folder
            files.sort(key=lambda file: -len(file.parts))
            uploads = [Upload(file, file.name) for file in files]
            yield Entry(owners[f"{name}/"], one.at, uploads, several)

    def _unzipped(self, file: File, name: str, of_class: bool = True) -> Folder:
        """What is in a zip; its name as `hand_in` would give it to a student."""
        zipped = replace(file, of_class=of_class)
        self.reader.left = STUDENT_SIZE
        name = NUMBERED.sub("", name, count=1)
        return Folder(name, self.reader.unzipped(zipped), file.parts, zipped)

    def _keyed(self, entries: Iterable[Entry]) -> dict[str, list[Entry]]:
        """The students' entries by key, without hidden folders that hold no notebook, such as
        `.git`. A hash follows a key that can't be printed, or that another student has; none if it
        only has to be normalized, like names from macOS.
        """
        owners: dict[Whose, dict[Parts, Entry]] = defaultdict(dict)
        for entry in entries:
            if entry.several:
                refused = File(entry.at, Path(), trouble=SEVERAL)
                entry.uploads = [Upload(refused, entry.at[-1])]
            whose = self._whose(entry)
            entry.name = whose[2]
            # Moodle and Canvas list each file by itself
            of_one = entry.owner.system in ("nbgrader", "plain")
            at = entry.at if of_one else (entry.owner.number or entry.owner.name,)
            same = owners[whose].setdefault(at, entry)
            if same is not entry:
                same.uploads += entry.uploads
        keyed: dict[str, list[Entry]] = {}
        for whose in sorted(owners, key=_precedence):
            own = [*owners[whose].values()]
            named = whose[1]
            if named.startswith(".") and not any(entry.hand_ins for entry in own):
                continue
            key = one_line(named, KEY_LENGTH)
            start = key or "student"
            digest = sha256("\0".join(whose).encode("utf-8", "surrogatepass")).hexdigest()
            length = HASH_LENGTH
            is_changed = _is_changed(named)
            while is_changed or key in keyed:
                key = f"{start[: KEY_LENGTH - 1 - length]}-{digest[:length]}"
                length += 1
                is_changed = False
            keyed[key] = own
        return keyed

    def _whose(self, entry: Entry) -> Whose:
        """Students who share a key but not a name are two."""
        system, name, _, number, *_ = entry.owner
        name = name or number
        who = number if system == "canvas" else name
        path = "/".join(entry.at)
        if student := meant(self.students, who, path, by_name=system != "nbgrader"):
            return LISTED, student.key, student.name
        return system, number or name, name


def _precedence(whose: Whose) -> tuple:
    system, key, name = whose
    is_cut = one_line(key, KEY_LENGTH) != key
    return _is_changed(key), PRECEDENCE.index(system), is_cut, key, name


def _is_changed(key: str) -> bool:
    return not key or one_line(key, KEY_LENGTH) != unicodedata.normalize("NFC", key)
