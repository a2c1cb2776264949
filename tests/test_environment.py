"""One list of dependencies, in four places that must agree; and what `make` lists and finds."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections import defaultdict
from functools import partial
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from tables import each_of

from helpers.folders import ROOT
from helpers.lessons.dispatch import calls
from helpers.lessons.dispatch.calls import VERSIONS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = (
    "environment/requirements.lock",
    "environment/dev.lock",
    "environment/class.lock",
    "environment/cases.lock",
    "classroom/hub/requirements.lock",
    "classroom/image/requirements.lock",
)
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
FINDER = ROOT / "environment/find-python.sh"
TARGETS = set(
    re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)


def ranges(requirements: list[str]) -> dict[str, SpecifierSet]:
    """The versions allowed for each requirement that applies to this Python; a marker may exclude
    it.
    """
    asked = [
        each for each in map(Requirement, requirements) if not each.marker or each.marker.evaluate()
    ]
    return {canonicalize_name(each.name): each.specifier for each in asked}


RUNTIME = ranges(PROJECT["project"]["dependencies"])
EXTRAS = {
    name: ranges(listed) for name, listed in PROJECT["project"]["optional-dependencies"].items()
}
CLASSROOM = EXTRAS["classroom"]
STUDENTS = RUNTIME | EXTRAS["libraries"] | EXTRAS["install"]
DIRECT = STUDENTS | EXTRAS["dev"]


def locked(file: str) -> dict[str, list[str]]:
    """The versions in a lock file: one for each name, or one for each platform."""
    versions = defaultdict(list)
    for name, number in re.findall(
        r"^([\w.-]+)==([^ ;\\]+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
    ):
        versions[canonicalize_name(name)].append(number)
    return versions


def imported(path: Path, everywhere: bool = True) -> set[str]:
    """The top-level packages that a module imports, except by relative imports: anywhere, or only
    at its top level.
    """
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


def test_what_helpers_imports_is_listed():
    names = packages_distributions()
    for path in sorted((ROOT / "helpers").rglob("*.py")):
        beside = {module.stem for module in path.parent.glob("*.py")}  # child.py is run by its path
        for package in sorted(imported(path) - sys.stdlib_module_names - {"helpers"} - beside):
            distributions = {canonicalize_name(name) for name in names.get(package, [package])}
            wanted = RUNTIME if package in imported(path, everywhere=False) else DIRECT | CLASSROOM
            assert distributions & wanted.keys(), (
                f"{path} imports {package}, which pyproject.toml does not list"
            )


def test_conda_lists_the_same_ranges():
    names = CONDA["dependencies"]
    (python,) = (line.removeprefix("python=") for line in names if line.startswith("python="))
    assert python in VERSIONS, "one version: Binder doesn't understand a range"
    assert ranges([name for name in names if name != f"python={python}"]) == RUNTIME | {
        "pip": SpecifierSet()
    }
    assert CONDA["channels"] == ["conda-forge"]


def test_locked_and_installed_versions_are_in_range():
    students, developers, teachers, cases, hub, image = map(locked, LOCKS)
    for name, allowed in DIRECT.items():
        numbers = students.get(name) or (developers[name] if name not in STUDENTS else [])
        assert numbers, f"{name} is not in its lock; `make lock` adds it"
        assert all(number in allowed for number in [*numbers, version(name)]), name
        assert version(name) in numbers, (
            f"another {name} is installed than locked; `make env` fixes it"
        )
    on_top = {"classroom": teachers, "cases": cases, "hub": hub, "image": image}
    for extra, more in on_top.items():
        for name, allowed in EXTRAS[extra].items():
            assert more[name] and all(number in allowed for number in more[name]), name
    for more in (developers, *on_top.values()):
        assert not students.keys() & more.keys(), (
            "one of them would install what the other does not want"
        )
        both = more.keys() & developers.keys() if more not in (hub, image) else ()
        assert all(more[name] == developers[name] for name in both), (
            "`make test-class` installs one after the other"
        )


@pytest.mark.parametrize("file", LOCKS)
def test_lock_has_hashes_and_no_addresses(file: str):
    text = (ROOT / file).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    hashed = re.compile(r"[\w.-]+==\S+( ;.*)?( \\\n +--hash=sha256:\w{64})+")
    assert [entry for entry in entries if not hashed.fullmatch(entry)] == []
    assert len(entries) == sum(map(len, locked(file).values())) > 0
    assert "://" not in text


def test_every_place_names_the_same_pythons():
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert (
        tuple(f"3.{minor}" for minor in range(8, 20) if f"3.{minor}.1" in allowed)
        == VERSIONS
        == calls.VERSIONS
    )
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "helpers/classroom/template/student.md",
        "environment/find-python.sh",
    ):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert re.findall(r"(3\.\d+) to (3\.\d+)", text) == [(VERSIONS[0], VERSIONS[-1])], name
    script = FINDER.read_text(encoding="utf-8")
    first, last = (int(version.partition(".")[2]) for version in (VERSIONS[0], VERSIONS[-1]))
    assert f"(3, {first}) <= sys.version_info < (3, {last + 1})" in script
    (tried,) = re.findall(r"for python in python3 (.*);", script)
    assert sorted(tried.split()) == [f"python{version}" for version in VERSIONS]


def test_code_is_linted_and_formatted():
    ruff = Path(sysconfig.get_path("scripts"), "ruff")
    for step in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *step, "--no-cache", "-q"], cwd=ROOT, text=True, capture_output=True
        )
        assert done.returncode == 0, (
            f"ruff {step}; `make format` fixes most of it:\n{done.stdout}{done.stderr}"
        )


def make(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `make` as from a terminal, not as part of a `make test` that may be running this."""
    if os.name == "nt":
        pytest.skip("no make here; the README says the same without it")
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MAKELEVEL", "WAYLAND_DISPLAY")
    }
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=kept | variables, text=True, capture_output=True
    )


def test_make_lists_its_targets():
    students, workshop = make().stdout.split("\nTo edit, test, publish and teach the lessons:\n")
    assert set(re.findall("^make ([a-z-]+) ", students + workshop, re.MULTILINE)) == TARGETS
    assert "make hand-in " in students
    assert "make grade " in workshop
    assert "LABARGS" in students


SUITS = f'exec "{sys.executable}" "$@"'
TOO_OLD = 'test "$1" = --version && echo Python 3.8.20 || exit 1'
FETCHES = 'test "$2" = install || echo "/home/uv/$2-$3"'


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand in for Pythons")
@each_of(
    ("scripts", "prints"),
    ({"python3": SUITS, "python3.14": SUITS}, "python3"),
    (
        {"python3": TOO_OLD, "python3.11": "exit 127", "python3.12": SUITS, "python3.15": SUITS},
        "python3.12",
    ),
    ({"python3": TOO_OLD, "uv": FETCHES}, "/home/uv/find-3.14"),
    ({"python3": TOO_OLD, "uv": "echo no network >&2; exit 2"}, ""),
)
def test_a_python_is_looked_for_and_else_fetched(
    tmp_path: Path, scripts: dict[str, str], prints: str
):
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    run = partial(subprocess.run, cwd=ROOT, text=True, capture_output=True)
    done = run(["/bin/sh", FINDER], env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout.strip()) == (0 if prints else 1, prints), done.stderr
    assert prints or re.search(
        "(?s)apt install python3-venv.*uv could not fetch one: no network", done.stderr
    )
    refused = run(["/bin/sh", FINDER, tmp_path / "python3"])
    assert scripts["python3"] == SUITS or "python3 is Python 3.8.20" in refused.stderr


def test_lab_opens_no_browser_where_there_is_no_display():
    assert "--no-browser" in make("-n", "lab", DISPLAY="").stdout or sys.platform == "darwin"
    assert "--no-browser" not in make("-n", "lab", DISPLAY=":0").stdout
    assert "--port 9000" in make("-n", "lab", "LABARGS=--port 9000").stdout


@pytest.mark.skipif(os.name == "nt", reason="make runs sh")
def test_no_name_of_a_student_s_is_a_command(tmp_path: Path):
    """`make forget` takes keys, which students may have chosen."""
    name = f'$(shell touch {tmp_path}/1)`touch {tmp_path}/2`"; touch {tmp_path}/3; "'
    done = subprocess.run(
        [
            "make",
            "-o",
            "env",
            "forget",
            f"STUDENT={name}",
            f"OUT={tmp_path}/$(shell touch {tmp_path}/4)",
        ],
        cwd=ROOT,
    )
    assert done.returncode
    assert not list(tmp_path.iterdir())
