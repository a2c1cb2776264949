"""What a Python version can change, on the other Pythons that the project promises, if the machine has them."""

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from chosen import everything, some

from helpers.folders import BUILD, ROOT
from helpers.teach.exercises import exercises

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
OTHERS = [version for version in VERSIONS if version != "{}.{}".format(*sys.version_info)]
# Reference counts, frames and bytecode, what a view exports, how classes and generics behave, error messages.
SOLVED = "tests/test_exercises.py::test_solution_is_right_at_full_size[{}]"
DIFFERS = ("arena", "calls", "checks_05", "checks_06", "checks_11", "claims", "cow", "dispatch", "exports", "holders",
           "safetensors", "serve", "teach", "varbuilder", "yoke")  # fmt: skip
ROOMS = ("make", "measure", "ideas", "show", "teach", "publish", "serve", "classroom")
UV = Path(sysconfig.get_path("scripts"), "uv")


def find(version: str, path: str | None = None) -> str | None:
    """A Python of this version on `path` that runs: a version manager leaves stand-ins there that don't."""
    for folder in (os.environ["PATH"] if path is None else path).split(os.pathsep):
        try:
            said = run(Path(folder, f"python{version}"), "-c", "import sys; print(sys.executable)", check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return said.stdout.strip()
    return None


def run(*command: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a command in the repository's folder, without this environment's settings for its own Python."""
    ours = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    clean = {key: value for key, value in os.environ.items() if key not in ours}
    return subprocess.run(command, cwd=ROOT, env=clean, text=True, capture_output=True, check=check)


def environment(version: str, python: str) -> Path:
    """The interpreter of an environment for `version` in build/, kept while what it's made from stays the same."""
    folder = BUILD / f"venv-{version}"
    inside = Path(sysconfig.get_path("scripts", vars={"base": str(folder)}), "python")
    recipe = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml")))
    made, stamp = folder / "made-from", f"{python} {recipe.hexdigest()} {ROOT}"
    if not made.is_file() or made.read_text() != stamp:
        for step in (
            ["venv", "-q", "--clear", "--python", python, folder],
            ["pip", "sync", "-q", "--python", inside, "requirements.lock"],
            ["pip", "install", "-q", "--no-deps", "--no-build-isolation", "--python", inside, "-e", "."],
        ):
            done = run(UV, *step)
            assert done.returncode == 0, f"uv {' '.join(map(str, step))} failed:\n{done.stderr}"
        made.write_text(stamp)
    return inside


def suite_on(version: str) -> subprocess.CompletedProcess[str] | None:
    """Runs test_source, a third of the exercises' solutions and part of DIFFERS on that Python, chosen by the commit.
    None without that Python. No random cases: they look for our own faults, which don't depend on the version, and
    this Python's suite has them.
    """
    python = find(version)
    if python is None:
        return None
    inside = environment(version, python)
    assert run(inside, "-c", "import sys; print(*sys.version_info[:2], sep='.')").stdout.strip() == version
    imports = run(inside, "-c", "import " + ", ".join(f"helpers.{room}" for room in ROOMS))
    assert imports.returncode == 0, imports.stderr
    files = ("source", *some(DIFFERS, 2, version, of_all=2))
    solved = some(exercises(), 0, version, of_all=len(exercises()) // 3)
    suite = [*(f"tests/test_{name}.py" for name in files), *(SOLVED.format(one.key) for one in solved),
             "-m", "not hypothesis", "-q", "-o", f"cache_dir={BUILD / f'cache-{version}'}"]  # fmt: skip
    tests = run(inside, "-m", "pytest", *suite)
    # What failed is run once more, and named: a measurement suffers from what runs at the same time.
    if tests.returncode == 1:
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", tests.stdout, re.MULTILINE)
        tests = run(inside, "-m", "pytest", *suite, "--lf", "--lfnf=none")
        tests.stdout = "\n".join([*(f"needed a second asking: {name}" for name in failed), tests.stdout])
    return tests


@pytest.fixture(scope="module")
def suites() -> Iterator[dict[str, Future]]:
    """Two at a time: they wait as much as they compute."""
    with ThreadPoolExecutor(2) as pool:
        yield {version: pool.submit(suite_on, version) for version in OTHERS}


@pytest.mark.versions
@pytest.mark.skipif(not everything(), reason="make test-all takes the other Pythons")
@pytest.mark.parametrize("version", OTHERS)
def test_what_differs_on(version: str, suites: dict[str, Future], record_property: Callable[[str, str], None]):
    tests = suites[version].result()
    if tests is None:
        pytest.skip(f"no Python {version} that runs is on the PATH")
    record_property(f"Python {version}", tests.stdout.strip().splitlines()[-1])
    for line in re.findall(r"^needed a second asking: .*", tests.stdout, re.MULTILINE):
        record_property(f"Python {version}", line)
    assert tests.returncode == 0, "\n".join([*tests.stdout.splitlines()[-60:], tests.stderr])


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand in for Pythons")
def test_only_a_python_that_runs_is_found(tmp_path: Path):
    for folder, script in (("broken", "exit 127"), ("works", f'exec "{sys.executable}" "$@"')):
        (tmp_path / folder).mkdir()
        stand_in = tmp_path / folder / "python3.99"
        stand_in.write_text(f"#!/bin/sh\n{script}\n")
        stand_in.chmod(0o755)
    folders = [str(tmp_path / name) for name in ("absent", "broken", "works")]
    assert find("3.99", os.pathsep.join(folders)) == sys.executable
    assert find("3.99", os.pathsep.join(folders[:2])) is None
