"""Where things live: the lessons, the data they come with, the data they make, and what a student
keeps. Also places for files that are thrown away, and small files that are written completely or
not at all.
"""

import atexit
import os
import re
from contextlib import AbstractContextManager
from functools import cache
from itertools import chain, count
from pathlib import Path

import psutil

from .safe_files import locked_folder, remove_folder, temporary_folder, whole_file
from .units import MiB, size

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
TEACHER = ROOT / "teacher"
DATA = ROOT / "data"
GLOSSARY = DATA / "glossary.toml"
RECORDED = DATA / "recorded"
EXERCISES = ROOT / "exercises"
BUILD = ROOT / "build"
GRADES = ROOT / "classroom" / "grades"  # unless the teacher names another folder

IN_MEMORY = ("tmpfs", "ramfs")  # file systems without a disk: nothing to show there


def generated() -> Path:
    """The folder for generated files: `$ZERO_COPY_DATA`, or `data/generated/`. Made if missing. If
    `data/generated/` lives in memory or can't be written, it's the platform's cache folder instead,
    provided that's on a disk.
    """
    setting = os.environ.get("ZERO_COPY_DATA")
    folder = Path(setting).expanduser() if setting else _of_ones_own(DATA / "generated")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@cache
def _of_ones_own(folder: Path) -> Path:
    """`folder`, or the cache folder if `folder` lives in memory, about which a line is printed,
    once; if many users share the course and can't write there; or if this isn't the course, but
    installed for another project (wheel/).
    """
    mine = NOTEBOOKS.is_dir() and writable(folder)
    if mine and not in_memory(file_system(folder)):
        return folder
    import platformdirs

    other = Path(platformdirs.user_cache_dir("zero-copy-measured", appauthor=False))
    try:
        other.mkdir(parents=True, exist_ok=True)
    except OSError:
        return folder
    if in_memory(file_system(other)) or not os.access(other, os.W_OK):
        return folder
    if mine:
        memory = f"data/{folder.name} is in memory, where there's no disk to measure."
        print(f"{memory} Generated files go to {other.name} in your cache folder.")
    return other


def writable(folder: Path) -> bool:
    """Can this user write into `folder`, or make it?"""
    return os.access(next(path for path in (folder, *folder.parents) if path.exists()), os.W_OK)


def file_system(path: str | os.PathLike) -> str | None:
    """The type of the file system that holds `path`: "ext4", or "overlay on tmpfs" if the overlay's
    writable layer is known. None if the mount table doesn't list it, as in some containers, and for
    "." in a folder that has been deleted.
    """
    try:
        path = Path(path).resolve()
        mounts = {
            Path(partition.mountpoint): partition for partition in psutil.disk_partitions(all=True)
        }
    except OSError:
        return None

    def mount(path: Path) -> tuple[str | None, str]:
        device = next(
            (mounts[folder] for folder in (path, *path.parents) if folder in mounts), None
        )
        return (device.fstype, device.opts) if device else (None, "")

    system, options = mount(path)
    upper = re.search(r"\bupperdir=([^,]+)", options)
    if system == "overlay" and upper and os.path.exists(upper[1]):
        below, _ = mount(Path(upper[1]))
        return f"overlay on {below}" if below != system else system
    return system


def in_memory(system: str | None) -> bool:
    """Do the files of this `file_system` live in memory?"""
    return (system or "").removeprefix("overlay on ") in IN_MEMORY


def file_size(asked: int | str) -> int:
    """The `size` of a lesson's large file: as asked, or `$ZERO_COPY_SIZE` where that is less, as in
    a class that shares a disk; and a line says so. ValueError below 64 MiB, because the lessons'
    claims hold down to there.
    """
    largest = os.environ.get("ZERO_COPY_SIZE") or asked
    if size(largest) < min(64 * MiB, size(asked)):
        raise ValueError(
            f"ZERO_COPY_SIZE={largest} is too small for what the lessons claim; write 64 MiB or "
            "more"
        )
    if size(largest) < size(asked):
        print(f"The file has {largest} here, as ZERO_COPY_SIZE says, where the text says {asked}.")
    return min(size(largest), size(asked))


def scratch(name: str) -> Path:
    """A path for `name` in this process's own folder under `generated()`. Makes no file yet. So two
    notebooks never write the same copy. The folder goes when the process ends. If the process is
    killed, the next process to call scratch() removes its folder.
    """
    return _of_this_process(generated()) / name


@cache
def _of_this_process(parent: Path) -> Path:
    folder, _ = locked_folder(parent, "scratch")
    atexit.register(remove_folder, folder)
    return folder


def scratch_folder(name: str) -> AbstractContextManager[Path]:
    """A `temporary_folder` in `generated()`."""
    return temporary_folder(generated(), name)


def state() -> Path:
    """The student's own folder, for predictions: `$ZERO_COPY_STATE`, or the platform's data folder.
    Made if missing. OSError if it can't be made, or if it's in the home of a user who has none
    here.
    """
    import platformdirs

    folder = os.environ.get("ZERO_COPY_STATE") or platformdirs.user_data_dir(
        "zero-copy-measured", appauthor=False
    )
    try:
        path = Path(folder).expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(
            f"{error}; ZERO_COPY_STATE is {folder!r}: set it to another folder"
        ) from None
    path.mkdir(parents=True, exist_ok=True)
    return path


def work() -> Path:
    """The folder for the student's own copies of the lessons: `$ZERO_COPY_WORK`, or `my_lessons/`,
    in the home if many users share the course. Made if missing. A relative path starts at the
    lessons' root, so it's the same in `make lab` and in a kernel.
    """
    own = "my_lessons" if writable(ROOT / "my_lessons") else "~/my_lessons"
    folder = ROOT / Path(os.environ.get("ZERO_COPY_WORK") or own).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def typed(target: str) -> str:
    """How a student types a target of `make`: "make hand-in LESSON=02". A shared course isn't where
    they work.
    """
    return f"make {target}" if writable(ROOT) else f"make -C {ROOT} {target}"


def lessons(folder: Path = NOTEBOOKS) -> list[Path]:
    """The lessons in order: 00_start_here.ipynb, …"""
    return sorted(folder.glob("[0-9][0-9]_*.ipynb"))


def lesson(number: str) -> Path:
    """The path of lesson "02", or "2". ValueError for an unknown number."""
    paths = {path.name[:2]: path for path in lessons()}
    if not (path := paths.get(str(number)) or paths.get(f"0{number}")):
        raise ValueError(f"no lesson {number!r}; there are: {', '.join(paths)}")
    return path


def free(path: Path) -> Path:
    """This path, or the first of path-2, path-3, … that is free."""
    more = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return next(candidate for candidate in chain([path], more) if not os.path.lexists(candidate))


def write_whole(path: str | os.PathLike, data: str | bytes) -> None:
    """Writes `data` (text as UTF-8) to `path`, or leaves `path` as it was. Like `whole_file`, for
    small data.
    """
    data = data.encode() if isinstance(data, str) else data
    with whole_file(path, len(data)) as file:
        file.write(data)
