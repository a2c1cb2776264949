"""`make test` runs a sample of the slow tests, a different one for each commit; `make test-all` runs all, or more."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from helpers.folders import ROOT

T = TypeVar("T")


def everything() -> bool:
    """Whether $ZERO_COPY_TESTS asks for all tests."""
    asked = os.environ.get("ZERO_COPY_TESTS", "")
    if asked not in ("", "all"):
        raise ValueError(f"ZERO_COPY_TESTS is {asked!r}; it is 'all' (every test) or not set")
    return asked == "all"


def some(items: Sequence[T], most: int, of: str = "", *, of_all: int | None = None) -> list[T]:
    """Up to `most` of the items; if everything() is asked for, all of them, or up to `of_all` if it's given. The choice
    depends on `of` and the commit, and keeps their order."""
    if everything():
        most = len(items) if of_all is None else of_all
    drawn = sorted(range(len(items)), key=lambda i: hashlib.sha256(f"{commit()} {of} {i}".encode()).digest())
    return [items[i] for i in sorted(drawn[:most])]


@cache
def commit() -> str:
    """The hash of the commit that is checked out; "no commit" without git."""
    try:
        said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return said.stdout.strip()
