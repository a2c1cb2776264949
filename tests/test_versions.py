"""The tests of every room on the other Pythons that the project promises, where the machine has them."""

import hashlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.folders import BUILD, ROOT

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
OTHERS = [version for version in VERSIONS if version != "{}.{}".format(*sys.version_info)]
UV = Path(sysconfig.get_path("scripts"), "uv")


def find(version: str, path: str | None = None) -> str | None:
    """A Python of this version on `path` that runs: a version manager leaves stand-ins there that do not."""
    for folder in (os.environ["PATH"] if path is None else path).split(os.pathsep):
        try:
            said = run(Path(folder, f"python{version}"), "-c", "import sys; print(sys.executable)", check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return said.stdout.strip()
    return None


def run(*command: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run in the repository's folder, without what this environment says to its own Python."""
    ours = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    clean = {key: value for key, value in os.environ.items() if key not in ours}
    return subprocess.run(command, cwd=ROOT, env=clean, text=True, capture_output=True, check=check)


def environment(version: str, python: str) -> Path:
    """The interpreter of an environment for `version` in build/, kept while what it is made from stays the same."""
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


def rooms_on(version: str) -> subprocess.CompletedProcess[str] | None:
    """The tests of every room on that Python; None where there is none."""
    python = find(version)
    if python is None:
        return None
    inside = environment(version, python)
    assert run(inside, "-c", "import sys; print(*sys.version_info[:2], sep='.')").stdout.strip() == version
    marked = "not alone and not browser and not notebooks and not versions"
    suite = ["tests", "-m", marked, "-q", "-o", f"cache_dir={BUILD / f'cache-{version}'}"]
    # Without what takes long and hangs on no version: exercises, files, pictures, pages, Rust, what starts a kernel.
    left_out = ("digits", "exercises*", "make*", "publish", "show*", "teach", "tidy", "twins", "versions")
    suite += [f"--ignore-glob=*test_{name}.py" for name in left_out] + ["-k", "not notebook and not kernel"]
    tests = run(inside, "-m", "pytest", *suite)
    # What failed is asked once more: a measurement suffers from the other suites, which run at the same time.
    return run(inside, "-m", "pytest", *suite, "--lf", "--lfnf=none") if tests.returncode == 1 else tests


@pytest.fixture(scope="module")
def suites() -> Iterator[dict[str, Future]]:
    """All at once: they wait more than they compute."""
    with ThreadPoolExecutor() as pool:
        yield {version: pool.submit(rooms_on, version) for version in OTHERS}


@pytest.mark.versions
@pytest.mark.parametrize("version", OTHERS)
def test_rooms_on(version: str, suites: dict[str, Future], record_property: Callable[[str, str], None]):
    tests = suites[version].result()
    if tests is None:
        pytest.skip(f"no Python {version} that runs is on the PATH")
    record_property(f"Python {version}", tests.stdout.strip().splitlines()[-1])
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
