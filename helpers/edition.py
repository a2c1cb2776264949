"""The edition of these lessons: the day and the commit that every page, zip, notebook and verdict
names.
"""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache

from .folders import EXERCISES, ROOT

# marks a class edition, without solutions and answers
CLASS_EDITION = EXERCISES / "class-edition.toml"


@dataclass(frozen=True)
class Edition:
    day: str = ""  # of the commit, "2026-11-22"; "" if unknown
    commit: str = ""  # its full hash; "" if unknown
    changed: bool = False  # are there uncommitted changes?

    def __str__(self) -> str:
        """ "2026-11-22 (11a3030)"; "unknown edition" for a copy of the files without git."""
        if not self.commit:
            return "unknown edition"
        return f"{self.day} ({self.commit[:7]}{', with changes' if self.changed else ''})"


@cache
def edition() -> Edition:
    """The edition of these files: a class edition names its own; for a checkout, git knows."""
    if CLASS_EDITION.exists():
        fields = tomllib.loads(CLASS_EDITION.read_text(encoding="utf-8"))
        return Edition(fields["day"], fields["commit"])
    try:
        day, commit = git("show", "--no-patch", "--format=%cs %H", "HEAD").decode().split()
        return Edition(day, commit, bool(git("status", "--porcelain", "--untracked-files=no")))
    except (OSError, subprocess.CalledProcessError, ValueError):
        return Edition()


def git(*arguments: str, given: bytes = b"") -> bytes:
    """What git says about this checkout, never one around it. OSError without git,
    CalledProcessError if it fails.
    """
    only_here = os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent), "TZ": "UTC"}
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=only_here, input=given, capture_output=True, check=True
    ).stdout
