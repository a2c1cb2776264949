"""What a Python version can change, on the other Pythons that the project promises, if the machine
has them.
"""

import hashlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tools import require

from helpers.folders import BUILD, ROOT
from helpers.lessons.dispatch.calls import VERSIONS, python_of
from helpers.teach.exercises import Exercise, exercises

OTHERS = [version for version in VERSIONS if version != "{}.{}".format(*sys.version_info)]
SOLVED = "tests/test_exercises.py::test_solution_is_right"
# Reference counts, frames and bytecode, what a view exports, how classes and generics behave, error
# messages: the first on each Python, the others and every second solution on one each.
DIFFERS = ("calls", "exports", "source")
MAY_DIFFER = (
    "arena",
    "checks_05",
    "checks_06",
    "checks_11",
    "claims",
    "cow",
    "dispatch",
    "holders",
    "safetensors",
    "serve",
    "varbuilder",
    "yoke",
)
ATTEMPTS = [
    f"tests/test_teach.py::test_{name}_attempt"
    for name in ("an_empty_body_is_no", "anything_else_is_an")
]
ROOMS = ("make", "measure", "ideas", "show", "teach", "publish", "serve", "classroom")
LOCKS = ("environment/requirements.lock", "environment/dev.lock")
UV = Path(sysconfig.get_path("scripts"), "uv")


def run(
    *command: str | Path, capture_output: bool = True, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs a command in the repository's folder, without this environment's settings for its own
    Python.
    """
    ours = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    clean = {key: value for key, value in os.environ.items() if key not in ours}
    return subprocess.run(
        command, cwd=ROOT, env=clean, text=True, capture_output=capture_output, check=check
    )


def environment(version: str, python: str) -> Path:
    """The interpreter of an environment for `version` in build/, kept while what it's made from
    stays the same.
    """
    folder = BUILD / f"venv-{version}"
    inside = Path(sysconfig.get_path("scripts", vars={"base": str(folder)}), "python")
    recipe = hashlib.sha256(
        b"".join((ROOT / name).read_bytes() for name in (*LOCKS, "pyproject.toml"))
    )
    made = folder / "made-from"
    stamp = f"{python} {recipe.hexdigest()} {ROOT}"
    if not made.is_file() or made.read_text() != stamp:
        for step in (
            ["venv", "-q", "--clear", "--python", python, folder],
            ["pip", "sync", "-q", "--python", inside, *LOCKS],
            [
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--no-build-isolation",
                "--python",
                inside,
                "-e",
                ".",
            ],
        ):
            done = run(UV, *step)
            assert done.returncode == 0, f"uv {' '.join(map(str, step))} failed:\n{done.stderr}"
        made.write_text(stamp)
    return inside


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """Each other version, and the interpreter of an environment for it."""
    require(f"Python {request.param}")
    inside = environment(request.param, python_of(request.param))
    assert (
        run(inside, "-c", "import sys; print(*sys.version_info[:2], sep='.')").stdout.strip()
        == request.param
    )
    return request.param, inside


def suite(inside: Path, marked: str, *tests: str) -> str:
    """Runs these tests there. Returns pytest's last line."""
    done = run(
        inside,
        "-m",
        "pytest",
        *tests,
        "-m",
        marked,
        "-q",
        "-o",
        f"cache_dir={inside.parents[1] / 'cache'}",
    )
    assert done.returncode == 0, "\n".join([*done.stdout.splitlines()[-60:], done.stderr])
    return done.stdout.strip().splitlines()[-1]


def share(items: Sequence, version: str) -> Sequence:
    """This Python's share of what is tried on only one of the others."""
    return items[OTHERS.index(version) :: len(OTHERS)]


def solved(ones: Sequence[Exercise]) -> list[str]:
    """The tests of these exercises' solutions."""
    return [f"{SOLVED}[{one.key}]" for one in ones]


@pytest.mark.slow
@pytest.mark.versions
def test_what_differs_is_as_here(
    other: tuple[str, Path], record_property: Callable[[str, str], None]
):
    """Without random cases: they look for our own faults, which don't depend on the version."""
    version, inside = other
    imports = run(inside, "-c", "import " + ", ".join(f"helpers.{room}" for room in ROOMS))
    assert imports.returncode == 0, imports.stderr
    files = [f"tests/test_{name}.py" for name in (*DIFFERS, *share(MAY_DIFFER, version))]
    done = suite(
        inside,
        "not (hypothesis or measured or slow)",
        *files,
        *ATTEMPTS,
        *solved(share(exercises()[::2], version)),
    )
    record_property(f"Python {version}", done)


@pytest.mark.slow
@pytest.mark.versions
@pytest.mark.measured
@pytest.mark.parametrize("other", OTHERS[-1:], indirect=True)
def test_what_measures_time_is_as_here(other: tuple[str, Path]):
    suite(other[1], "measured", *solved([one for one in exercises() if one.alone]))
