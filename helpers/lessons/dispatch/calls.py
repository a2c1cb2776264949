"""What a call costs: in this Python, `call_costs()`; with two types in a mix, `mix_costs()`; in
each version of Python, `costs_by_version()`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ...measure import NotMeasuredHere, Recording, measure

CHILD = Path(__file__).with_name("calls_child.py")
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
TIMEOUT_S = 60  # for an interpreter, which takes about 1
WHO = "import sys; print(sys.implementation.name, '{}.{}'.format(*sys.version_info))"


def call_costs(*, rounds: int = 5, python: str = sys.executable) -> dict[str, float]:
    """Seconds per iteration, loop included, by case: {"loop alone": 1.4e-8, …}, the minimum of
    `rounds`, in this Python or another. ValueError: no rounds. RuntimeError: that Python could not
    run them.
    """
    return _told(python, rounds, "calls")


def mix_costs(*, rounds: int = 5) -> dict[str, dict[str, float]]:
    """Seconds per method call, loop included, on objects of two types, by the second type's share
    and by their order, in this Python: {"0 %": {"shuffled": 4e-8, "sorted by type": 4e-8}, "10 %":
    …}. Errors as in `call_costs`.
    """
    costs: dict[str, dict[str, float]] = {}
    for name, seconds in _told(sys.executable, rounds, "mixes").items():
        share, order = name.split(", ")
        costs.setdefault(share, {})[order] = seconds
    return costs


def costs_by_version() -> Recording:
    """A recording whose value has the `call_costs` of a CPython of each of VERSIONS: {"3.11":
    {"loop alone": …}, …}. NotMeasuredHere: some of them aren't on the PATH.
    """
    pythons = {version: python_of(version) for version in VERSIONS}
    absent = [version for version, python in pythons.items() if not python]
    if absent:
        raise NotMeasuredHere(f"there is no Python {', '.join(absent)} on the PATH")
    return measure(_costs_of, pythons)


def _costs_of(pythons: dict[str, str]) -> dict[str, dict[str, float]]:
    return {version: call_costs(python=python) for version, python in pythons.items()}


def python_of(version: str) -> str | None:
    """The first CPython of this version on the PATH that runs: a version manager leaves stand-ins
    there that don't.
    """
    for folder in filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)):
        python = shutil.which(f"python{version}", path=folder)
        if python and _said([python, "-I", "-S", "-c", WHO]).stdout.split() == ["cpython", version]:
            return python
    return None


def _told(python: str, rounds: int, what: str) -> dict[str, float]:
    if rounds < 1:
        raise ValueError(f"rounds={rounds} measures nothing: give 1 or more")
    done = _said([python, "-I", "-S", str(CHILD), str(rounds), what])
    try:
        return json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise RuntimeError(
            f"{python} measured no calls: it said {said!r} (exit status {done.returncode})"
        ) from None


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
