"""Lists and reads students' folders and zips alike, within limits: extracts nothing, and follows no
link. The sizes that a zip declares don't count: bytes are counted as they come.
"""

import codecs
import errno
import io
import os
import re
import sqlite3
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from ..safe_files import regular_file
from ..teach.words import one_line
from ..units import MiB, in_words

NOTEBOOK_SIZE = 32 * MiB  # a lesson with its figures takes 1 to 3 MiB
ZIP_SIZE = 64 * MiB  # a student's zip
ZIP_ENTRIES = 1_000  # in a student's zip
# the list of names at the end of a student's zip, which zipfile reads at once
ZIP_NAMES_SIZE = 1 * MiB
CLASS_NAMES_SIZE = 16 * MiB  # the same list in the class's zip
STUDENT_SIZE = 512 * MiB  # from one student, unpacked, in all

CLEAR = "clear its outputs (Edit > Clear All Outputs) and hand in again"
ALONE = "hand in the notebook alone"
LINK = "it is a link; hand in the file itself"
SPECIAL = "it is a pipe or a device; hand in a file"
# bits of an entry's flags; the system that made it (APPNOTE.TXT, 4.4)
ENCRYPTED, UTF_8, UNIX = (0x1, 0x800, 3)
KIND_SIZE = 64  # bytes that show what a file is
HEADER_SIZE = 30  # bytes, at least, before each file in a zip (APPNOTE.TXT, 4.3.7)
ASK = "hand in the notebook (.ipynb), or the zip that `make hand-in` makes"
UNREADABLE = "unreadable"  # the cause of what the student has to hand in again
KINDS = {  # of files that are taken for notebooks and zips: how they begin
    b"PK": "a zip or a Word file",
    b"%PDF": "a PDF",
    b"<": "a web page (HTML)",
    b"\x89PNG": "a picture",
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"version https://git-lfs": "a pointer of Git LFS to a file",
}
COPIED_S = (
    60.0  # a file that was last written when it came here may have been copied then, or downloaded
)
JUNK = {"__macosx", ".ds_store", ".ipynb_checkpoints", "thumbs.db", "desktop.ini"}


class CannotBeGraded(Exception):
    """Why not, and what would help, in words for whoever can change it: the student, if it's about
    a hand-in.
    """


@contextmanager
def for_one() -> Iterator[list[str]]:
    """Whatever fails in it, for one student or one picture, goes into the list as the reason, and
    the others go on. What the machine can't do is raised, because it fails for everybody: OSError,
    MemoryError, an error of SQLite.
    """
    reasons: list[str] = []
    try:
        yield reasons
    except (OSError, MemoryError, sqlite3.Error):
        raise
    except CannotBeGraded as error:
        reasons.append(str(error))
    except Exception as error:
        reasons.append(
            one_line(
                f"the grader can't deal with it: it raised {type(error).__name__}: {error}", 300
            )
        )


@dataclass(frozen=True, eq=False)
class File:
    # its place below the collected folder, through zips: ("name", "02.zip", "02_copy.ipynb")
    parts: tuple[str, ...]
    at: Path | zipfile.ZipInfo  # its path on the disk, or its entry in the zip `inside`
    inside: "File | None" = None
    changed: float | None = (
        None  # in seconds since 1970, according to its folder or zip; None if that gives no time
    )
    trouble: str | None = None  # why it can't be read; None if nothing is known to be wrong with it
    copied: bool = False  # may `changed` be the time at which it was copied here?
    of_class: bool = (
        False  # a zip of the whole class, which no student packed, so it may have any size
    )

    @property
    def name(self) -> str:
        return self.parts[-1]


# the parts of each name, and the file; None for a folder
Listing = list[tuple[tuple[str, ...], File | None]]


def listed(folder: Path) -> Listing:
    """All that lies below a folder on the disk. A link, and a folder that can't be listed, is a
    file with trouble.
    """
    members: Listing = []
    waiting = [((), folder)]
    while waiting:
        parts, path = waiting.pop()
        try:
            with os.scandir(path) as scanned:
                entries = [entry for entry in scanned if not _junk(entry.name)]
        except OSError as error:
            trouble = f"the folder cannot be read: {error.strerror}"
            if not parts:
                raise CannotBeGraded(trouble) from None
            members.append(((*parts, ""), File(parts, path, trouble=trouble)))
            continue
        members.append((parts, None))
        for entry in entries:
            below = (*parts, entry.name)
            path = Path(entry.path)
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:  # its path is too long, or it's gone
                members.append(
                    (below, File(below, path, trouble=f"it cannot be read: {error.strerror}"))
                )
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append((below, path))
                continue
            is_link = stat.S_ISLNK(status.st_mode) or status.st_nlink > 1
            trouble = LINK if is_link else None if stat.S_ISREG(status.st_mode) else SPECIAL
            copied = abs(status.st_ctime - status.st_mtime) < COPIED_S
            members.append(
                (below, File(below, path, changed=status.st_mtime, trouble=trouble, copied=copied))
            )
    return sorted(members, key=lambda member: member[0])


class Reader:
    """Reads files, at most `left` bytes in all: set it for each student. It doesn't reopen a zip
    that it holds open.
    """

    def __init__(self) -> None:
        self.left = STUDENT_SIZE
        self._held: dict[File, zipfile.ZipFile] = {}

    def read(self, file: File, limit: int, what: str = "file") -> bytes:
        """All of a file, if it has no more than `limit` bytes; `what` is "notebook", "zip" or
        "file".
        """
        data = io.BytesIO()
        with self._opened(file, what) as (stream, size), _in_words(what):
            if size > limit:
                raise CannotBeGraded(_too_large(what, in_words(size, "bytes"), limit))
            while block := stream.read(MiB):
                data.write(block)
                self.left -= len(block)
                if data.tell() > limit:
                    raise CannotBeGraded(
                        _too_large(what, f"more than {in_words(limit, 'bytes')}", limit)
                    )
                if self.left < 0:
                    raise CannotBeGraded(
                        f"more than {in_words(STUDENT_SIZE, 'bytes')} were handed in; {ALONE}"
                    )
        return data.getvalue()

    @contextmanager
    def holding(self, zipped: File) -> Iterator[zipfile.ZipFile]:
        with ExitStack() as stack:
            if zipped.of_class:
                stream, _ = stack.enter_context(self._opened(zipped, "zip"))
            else:
                stream = io.BytesIO(self.read(zipped, ZIP_SIZE, "zip"))
            with _in_words("zip"):
                start = stream.read(KIND_SIZE)
                what = "a notebook" if start[:1] == b"{" else what_it_is(start)
                if what and what != KINDS[b"PK"]:
                    remedy = "" if zipped.of_class else f"; {ASK}"
                    raise CannotBeGraded(f"it is {what}, not a zip{remedy}")
                limit = CLASS_NAMES_SIZE if zipped.of_class else ZIP_NAMES_SIZE
                opened = stack.enter_context(zipfile.ZipFile(_LimitedReads(stream, limit)))
            self._held[zipped] = opened
            try:
                yield opened
            finally:
                del self._held[zipped]

    def unzipped(self, zipped: File) -> Listing:
        """The files and folders in a zip. A student's must not be made to do harm."""
        with ExitStack() as stack:
            opened = self._held.get(zipped) or stack.enter_context(self.holding(zipped))
            members: Listing = []
            entries = sorted(opened.infolist(), key=lambda entry: entry.header_offset)
            end = 0
            if len(entries) > ZIP_ENTRIES and not zipped.of_class:
                raise CannotBeGraded(f"the zip has {len(entries):,} files; {ALONE}")
            for entry in entries:
                parts, outside = _place(entry)
                if outside and not zipped.of_class:
                    raise CannotBeGraded(outside)
                if entry.header_offset < end and not zipped.of_class:
                    raise CannotBeGraded("files overlap in the zip; pack it again")
                end = entry.header_offset + HEADER_SIZE + entry.compress_size
                if parts and not any(map(_junk, parts)):
                    is_folder = entry.is_dir() and not outside
                    members.append(
                        (parts, None if is_folder else _in_zip(zipped, parts, entry, outside))
                    )
        return sorted(members, key=lambda member: member[0])

    @contextmanager
    def _opened(self, file: File, what: str) -> Iterator[tuple[BinaryIO, int]]:
        """A file to read from, and its size in bytes according to its folder or zip."""
        if file.trouble:
            raise CannotBeGraded(file.trouble)
        with ExitStack() as stack:
            if file.inside:
                zipped = self._held.get(file.inside) or stack.enter_context(
                    self.holding(file.inside)
                )
                with _in_words(what):
                    stream = stack.enter_context(zipped.open(file.at))
                    size = file.at.file_size
            else:
                with _in_words(what):
                    stream = stack.enter_context(regular_file(file.at, links=False))
                    size = os.fstat(stream.fileno()).st_size
            yield stream, size


class _LimitedReads:
    """A file for zipfile, which reads a zip's whole list of names at once, whatever length the zip
    declares for it.
    """

    def __init__(self, file: BinaryIO, limit: int):
        self._file, self._limit = file, limit
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._limit:
            raise CannotBeGraded(
                f"the zip's list of names takes {in_words(size, 'bytes')}; {ALONE}"
            )
        return self._file.read(size)


def what_it_is(data: bytes) -> str:
    """What a file is that begins like this, and isn't a notebook; "" if it may be one."""
    start = data[:KIND_SIZE].removeprefix(codecs.BOM_UTF8).lstrip()
    kinds = (kind for sign, kind in KINDS.items() if start.startswith(sign))
    return next(kinds, "") if data else "an empty file"


@contextmanager
def _in_words(what: str) -> Iterator[None]:
    """Turns every error that a damaged or hostile file can raise into CannotBeGraded."""
    try:
        yield
    except OSError as error:
        why = (
            LINK
            if error.errno == errno.ELOOP
            else f"the {what} cannot be read: {error.strerror or error}"
        )
        raise CannotBeGraded(why) from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        ValueError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise CannotBeGraded(
            f"the zip is damaged ({one_line(str(error), 200) or type(error).__name__})"
        ) from None


def _too_large(what: str, size: str, limit: int) -> str:
    return (
        f"the {what} is {size}; the limit is {in_words(limit, 'bytes')}: "
        f"{CLEAR if what == 'notebook' else ALONE}"
    )


def _junk(name: str) -> bool:
    """True for the names of files that macOS, Windows and Jupyter leave beside others."""
    return name.casefold() in JUNK or name.startswith("._")


def _in_zip(
    zipped: File, parts: tuple[str, ...], entry: zipfile.ZipInfo, trouble: str | None
) -> File:
    kind = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == UNIX else 0
    if trouble:
        pass
    elif kind not in (0, stat.S_IFREG):
        trouble = LINK if kind == stat.S_IFLNK else SPECIAL
    elif entry.flag_bits & ENCRYPTED:
        trouble = "it is encrypted; hand it in without a password"
    # zipfile unpacks it without a bound
    elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        trouble = (
            f"it uses a compression that we don't read (method {entry.compress_type}); pack it as "
            "an ordinary zip"
        )
    changed = None
    with suppress(ValueError, OverflowError, OSError):
        changed = datetime(*entry.date_time).timestamp()
    return File((*zipped.parts, *parts), entry, zipped, changed, trouble)


def _place(entry: zipfile.ZipInfo) -> tuple[tuple[str, ...], str | None]:
    """The parts of an entry's name; and a complaint if it leads out of the zip."""
    name = entry.filename
    # macOS writes UTF-8 without saying so, and zipfile reads it as code page 437
    if not entry.flag_bits & UTF_8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = tuple(part for part in re.split(r"[/\\]", name) if part not in ("", "."))
    outside = re.match(r"[/\\]|[A-Za-z]:", name) or ".." in parts
    return (
        parts,
        (
            f"it names a file outside the zip ({one_line(name, 60)}); pack it again"
            if outside
            else None
        ),
    )
