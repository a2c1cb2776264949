"""The students' edition of the files as they lie here, for the tests: what a commit of them would give."""

from functools import cache

from helpers.classroom.hand_out import student_files
from helpers.edition import Edition
from helpers.folders import DATA, ROOT

OF = Edition("2026-11-22", "0123456789abcdef0123456789abcdef01234567")
FOLDERS = ("data", "exercises", "helpers", "notebooks")


@cache
def files() -> dict[str, bytes]:
    """By name, of all lessons."""
    return student_files(tree(), OF)


@cache
def tree() -> dict[str, bytes]:
    """Every file by its name, without what was made here."""
    made = ("__pycache__", ".ipynb_checkpoints", ".ruff_cache")
    here = [*ROOT.iterdir(), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))]
    kept = (path for path in here if path.is_file() and not set(made) & set(path.parts))
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept if DATA / "generated" not in path.parents
    }
