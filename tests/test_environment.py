"""One list of dependencies, said in four places that must agree, and the commands that the README promises."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from test_versions import VERSIONS

import helpers
from helpers.folders import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def ranges(requirements: list[str]) -> dict[str, SpecifierSet]:
    parsed = map(Requirement, requirements)
    return {canonicalize_name(each.name): each.specifier for each in parsed}


RUNTIME = ranges(PROJECT["project"]["dependencies"])
DEV = ranges(PROJECT["project"]["optional-dependencies"]["dev"])
LIBRARIES = ranges(PROJECT["project"]["optional-dependencies"]["libraries"])
DIRECT = sorted((RUNTIME | LIBRARIES | DEV).items())


def locked() -> dict[str, list[str]]:
    """Versions in the lock, one a name or one a platform."""
    versions = defaultdict(list)
    for name, number in re.findall(r"^([\w.-]+)==([^ ;\\]+)", LOCK, re.MULTILINE):
        versions[canonicalize_name(name)].append(number)
    return versions


def imported(path: Path, everywhere: bool = True) -> set[str]:
    """The top-level packages that a module imports, its own room's apart; everywhere, or as soon as it is imported."""
    found, tree = set(), ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


def test_no_dependency_is_listed_twice():
    assert len(RUNTIME) + len(LIBRARIES) + len(DEV) == len(DIRECT)


def test_what_helpers_imports_is_listed():
    names = packages_distributions()
    for path in sorted((ROOT / "helpers").rglob("*.py")):
        for package in sorted(imported(path) - sys.stdlib_module_names - {"helpers"}):
            distributions = {canonicalize_name(name) for name in names.get(package, [])}
            wanted = RUNTIME if package in imported(path, everywhere=False) else dict(DIRECT)
            assert distributions & wanted.keys(), (
                f"{path.relative_to(ROOT)} imports {package}, which pyproject.toml does not list"
            )


def test_conda_lists_the_same_ranges():
    names = [line for line in CONDA["dependencies"] if isinstance(line, str)]
    python = SpecifierSet(PROJECT["project"]["requires-python"])
    assert ranges(names) == RUNTIME | {"python": python, "pip": SpecifierSet()}
    assert CONDA["channels"] == ["conda-forge"]
    assert [line for line in CONDA["dependencies"] if not isinstance(line, str)] == [{"pip": ["-e ."]}]


@pytest.mark.parametrize(("name", "allowed"), DIRECT, ids=[name for name, _ in DIRECT])
def test_locked_and_installed_versions_are_in_range(name: str, allowed: SpecifierSet):
    assert locked()[name], f"{name} is not in requirements.lock; `make lock` adds it"
    for number in [*locked()[name], version(name)]:
        assert number in allowed
    assert version(name) in locked()[name], "installed is another version than locked; `make env` mends it"


def test_lock_has_hashes_and_no_addresses():
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    hashed = re.compile(r"[\w.-]+==\S+( ;.*)?( \\\n +--hash=sha256:\w{64})+")
    assert [entry for entry in entries if not hashed.fullmatch(entry)] == []
    assert len(entries) > len(DIRECT)
    assert "://" not in LOCK


def test_python_range():
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}.1" in allowed] == list(VERSIONS)


def test_helpers_needs_no_path_tricks(tmp_path: Path):
    """-I: neither the current folder nor PYTHONPATH is searched."""
    code = "import helpers, helpers.measure; print(helpers.__file__)"
    found = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, text=True, capture_output=True)
    assert found.stderr == ""
    assert Path(found.stdout.strip()) == Path(helpers.__file__) == ROOT / "helpers" / "__init__.py"


def test_code_is_linted_and_formatted():
    ruff = Path(sysconfig.get_path("scripts"), "ruff")
    for step in (["check"], ["format", "--check"]):
        done = subprocess.run([ruff, *step, "--no-cache", "-q"], cwd=ROOT, text=True, capture_output=True)
        assert done.returncode == 0, (
            f"ruff {' '.join(step)}; `make format` mends most of it:\n{done.stdout}{done.stderr}"
        )


def test_readme_and_makefile_agree():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    promised = set(re.findall(r"(?:^|`)make ([a-z-]+)", readme, re.MULTILINE))
    assert promised - TARGETS == set(), "the README names commands that the Makefile does not have"
    assert {"lab", "test", "handouts", "clean"} - promised == set(), "the README does not say what these do"


def make(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`make` as from a terminal: not as a part of the `make test` that this may run in."""
    if os.name == "nt" or not shutil.which("make"):
        pytest.skip("no make here; the README says the same without it")
    kept = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "WAYLAND_DISPLAY")}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=kept | variables, text=True, capture_output=True)


def test_make_lists_its_targets():
    assert set(re.findall(r"^make ([a-z-]+)\t", make().stdout, re.MULTILINE)) == TARGETS


def test_make_names_a_python_that_cannot_be_used(tmp_path: Path):
    old = tmp_path / "python2"
    old.write_text('#!/bin/sh\ntest "$1" = --version && echo Python 2.7.18 || exit 1\n')
    old.chmod(0o755)
    refused = make("env", f"PYTHON={old}")
    assert refused.returncode != 0
    assert "Needs Python 3.11, 3.12 or 3.13" in refused.stdout
    assert f"{old} is Python 2.7.18" in refused.stdout
    assert "venv --clear" not in refused.stdout


def test_lab_opens_no_browser_where_there_is_no_display():
    assert "--no-browser" in make("-n", "lab", DISPLAY="").stdout or sys.platform == "darwin"
    assert "--no-browser" not in make("-n", "lab", DISPLAY=":0").stdout
    assert "--port 9000" in make("-n", "lab", "LABARGS=--port 9000").stdout
