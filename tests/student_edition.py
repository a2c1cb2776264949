"""The students' edition of the files as they are now, for the tests: what a commit of them would
give.
"""

from functools import cache

from helpers.classroom.hand_out import student_files
from helpers.edition import Edition
from helpers.folders import ROOT

OF = Edition("2026-11-22", "0123456789abcdef0123456789abcdef01234567")
FOLDERS = ("data", "environment", "exercises", "helpers", "notebooks", "wheel")


@cache
def files() -> dict[str, bytes]:
    """The files of the edition by name, with all lessons."""
    return student_files(tree(), OF)


@cache
def tree() -> dict[str, bytes]:
    """Every file by its name, except generated ones."""
    made = {"generated", "__pycache__", ".ipynb_checkpoints", ".ruff_cache"}
    here = sorted(
        [*ROOT.iterdir(), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))]
    )
    files = {path.relative_to(ROOT): path for path in here if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in files.items()
        if not made & set(name.parts)
    }
