"""A room of `helpers` imports only what the table of rooms in helpers/README.md lets it import."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import weight

from helpers.folders import ROOT

HELPERS = ROOT / "helpers"
JUPYTER = {
    "IPython",
    "ipykernel",
    "ipywidgets",
    "jupyter_client",
    "matplotlib",
    "nbclient",
    "nbconvert",
    "nbformat",
}


def table(readme: str) -> dict[str, set[str]]:
    """The table of rooms: what each may import."""
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", readme, re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", others)) for room, others in rows}


def imported(source: str, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that a module of `package` imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            start += tuple(node.module.split(".")) if node.module else ()
            yield from ((*start, name.name) for name in node.names)


def used(room: str) -> dict[str, str]:
    """The other rooms and the packages that a room imports, each with a module that imports it."""
    found = {}
    for path in sorted((HELPERS / room).rglob("*.py")):
        inside = path.relative_to(HELPERS)
        for first, *rest in imported(
            path.read_text(encoding="utf-8"), ("helpers", *inside.parts[:-1])
        ):
            other = rest[0] if first == "helpers" and rest else first
            if other != room and (first != "helpers" or other in TABLE):
                found[other] = inside.as_posix()
    return found


TABLE = table((HELPERS / "README.md").read_text(encoding="utf-8"))


def test_the_table_names_every_room():
    assert set(TABLE) == {path.parent.name for path in HELPERS.glob("*/__init__.py")}


@pytest.mark.parametrize("room", TABLE)
def test_a_room_imports_no_more_than_the_table_allows(room: str):
    found = {other: path for other, path in used(room).items() if other in TABLE}
    for other in found.keys() - TABLE[room]:
        pytest.fail(
            f"{found[other]} imports from {other}, which the README's table does not let {room} do"
        )


def test_no_lesson_imports_from_a_later_one():
    folders = {
        path.parent.name: path.read_text(encoding="utf-8")
        for path in HELPERS.glob("lessons/*/__init__.py")
    }
    number = {name: re.match('"""Lesson ([0-9]{2}): ', text)[1] for name, text in folders.items()}
    for path in HELPERS.glob("lessons/*/*.py"):
        own = path.parent.name
        for name in imported(path.read_text(encoding="utf-8"), ("helpers", "lessons", own)):
            assert name[:2] != ("helpers", "lessons") or number[name[2]] <= number[own], path


def test_what_serves_every_room_knows_none():
    for path in set(HELPERS.glob("*.py")) - {HELPERS / "__init__.py"}:
        names = [
            name[1]
            for name in imported(path.read_text(encoding="utf-8"), ("helpers",))
            if name[0] == "helpers"
        ]
        assert not TABLE.keys() & set(names), (
            f"{path.name} imports from a room; it would be a part of one"
        )


def test_the_package_itself_imports_a_room_only_when_a_notebook_loads_it():
    code = (
        "import helpers, sys; print({name for name in sys.modules if name.startswith('helpers.')} "
        "or 'none')"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "none\n"
    )


@pytest.mark.parametrize("room", ["make", "measure", "ideas"])
def test_what_measures_knows_nothing_of_jupyter(room: str):
    found = used(room)
    assert not JUPYTER & found.keys(), f"{room} imports {sorted(JUPYTER & found.keys())}"


@pytest.mark.parametrize("top", weight.LIMITS)
def test_no_room_gets_heavier(top: str):
    """`python -m tests.weight` says which is."""
    nodes = sum(one.nodes for one in weight.rooms(top).values())
    assert nodes <= weight.LIMITS[top]


@pytest.mark.parametrize("folded", ["{0};{1}", "{0}\n\n# a comment\n{1}", '"""Doc."""\n{0}\n{1}'])
def test_weight_is_not_changed_by_folding_comments_or_docstrings(tmp_path: Path, folded: str):
    path = tmp_path / "module.py"
    path.write_text("x = 1\ny = x\n")
    plain = weight.weight(path)
    path.write_text(folded.format("x = 1", "y = x"))
    assert weight.weight(path).nodes == plain.nodes
