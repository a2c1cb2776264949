"""Where things live: the lessons, the data they come with, the data they make, and what a student keeps.

And how small files are written there: whole or not at all.
"""

import os
from pathlib import Path

import platformdirs

from .whole import whole_file

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
TEACHER = ROOT / "teacher"
DATA = ROOT / "data"
GLOSSARY = DATA / "glossary.toml"
RECORDED = DATA / "recorded"
EXERCISES = ROOT / "exercises"
BUILD = ROOT / "build"


def generated() -> Path:
    """The folder for generated files: `$ZERO_COPY_DATA`, or `data/generated/`. Made if it is missing."""
    folder = Path(os.environ.get("ZERO_COPY_DATA") or DATA / "generated").expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def state() -> Path:
    """The student's own folder, for predictions: `$ZERO_COPY_STATE`, or the platform's place. Made if missing.

    OSError where it cannot be made, or lies in the home of somebody who has none here.
    """
    folder = os.environ.get("ZERO_COPY_STATE") or platformdirs.user_data_dir("zero-copy-measured", appauthor=False)
    try:
        path = Path(folder).expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(f"{error}; name a folder by ZERO_COPY_STATE, not {folder!r}") from None
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_whole(path: str | os.PathLike, data: str | bytes) -> None:
    """Makes `path` hold `data` (text as UTF-8), or leaves it as it was: see `whole_file`, for what fits in memory."""
    data = data.encode() if isinstance(data, str) else data
    with whole_file(path, len(data)) as file:
        file.write(data)
