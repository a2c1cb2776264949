"""What a call costs in each Python on this machine: `call_costs()`; and with two types in a mix: `mix_costs()`."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CHILD = Path(__file__).with_name("calls_child.py")
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
THIS = "{}.{}".format(*sys.version_info)
TIMEOUT_S = 60  # for an interpreter, which takes about 1


def call_costs(*, rounds: int = 5) -> dict[str, dict[str, float]]:
    """Seconds per iteration, loop included, by version and case: {"3.11": {"loop alone": 1.4e-8, …}, …}, the minimum of
    `rounds`. This Python comes first, then every other CPython of VERSIONS that is on the PATH and runs, the first of
    each version. ValueError: no rounds. RuntimeError: this Python could not run them."""
    costs = {THIS: _costs_of(sys.executable, THIS, rounds)}
    for version in VERSIONS:
        for folder in filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)):
            if version in costs or not (python := shutil.which(f"python{version}", path=folder)):
                continue
            with suppress(OSError, RuntimeError):  # a version manager leaves stand-ins on the PATH that run nothing
                costs[version] = _costs_of(python, version, rounds)
    return costs


def mix_costs(*, rounds: int = 5) -> dict[str, dict[str, float]]:
    """Seconds per method call, loop included, on objects of two types, by the second type's share and by their order,
    in this Python: {"0 %": {"shuffled": 4e-8, "sorted by type": 4e-8}, "10 %": …}. Errors as in `call_costs`."""
    costs: dict[str, dict[str, float]] = {}
    for name, seconds in _costs_of(sys.executable, THIS, rounds, "mixes").items():
        share, order = name.split(", ")
        costs.setdefault(share, {})[order] = seconds
    return costs


def _costs_of(python: str, version: str, rounds: int, what: str = "calls") -> dict[str, float]:
    """RuntimeError if it doesn't run, or isn't a CPython of this version; OSError if it can't be started."""
    if rounds < 1:
        raise ValueError(f"rounds={rounds} measures nothing: give 1 or more")
    command = [python, "-I", "-S", str(CHILD), str(rounds), what]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
        report = json.loads(done.stdout)
        if (report["python"], report["implementation"]) == (version, "cpython"):
            return report["costs"]
        reason = f"it is {report['implementation']} {report['python']}"
    except subprocess.TimeoutExpired:
        reason = f"it took more than {TIMEOUT_S} s"
    except ValueError:
        reason = f"it said: {(done.stderr or done.stdout).strip()[-300:]!r} (exit status {done.returncode})"
    raise RuntimeError(f"{python} measured no calls as CPython {version}: {reason}")
