"""Runs a case: its two programs, each by itself in an empty folder, and what is asserted of
them.
"""

import ast
import os
import runpy
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..folders import RECORDED, scratch_folder
from ..measure import Comparison, Recording, compare
from ..teach import recorded
from ..teach.recorded import read
from ..teach.source import imported
from .files import Case

kept: list[dict] = []


def as_program(path: str, folder: str, wanted: frozenset[str]) -> dict[str, Any]:
    """Runs there. What the program's names hold is still there when it ends; the wanted ones come
    back.
    """
    os.chdir(folder)
    sys.argv = [path]
    sys.path[0] = folder
    kept.append(runpy.run_path(path, run_name="__main__"))
    return {name: kept[0][name] for name in wanted & kept[0].keys()}


as_program.__module__ = "__main__"  # so it travels by value: nothing of ours is imported there


def measured(case: Case) -> Comparison:
    """Both programs, measured here; or as they were recorded, where this machine or a library
    can't.
    """
    return recorded(f"cases/{case.name}", partial(run, case), needs=case.libraries)


def as_recorded(case: Case) -> Comparison:
    return read(RECORDED / "cases" / f"{case.name}.json")[0]


def run(case: Case) -> Comparison:
    with scratch_folder("case") as folder:
        programs = {
            kind: partial(as_program, str(path), str(folder / kind), _wanted(case))
            for kind, path in case.programs.items()
        }
        before = partial(_emptied, [folder / kind for kind in programs])  # a run may be done again
        return compare(
            programs, before=before, modules=_imported(case), timeout=case.timeout, interval=0.002
        )


def _emptied(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()


def holds(case: Case, runs: Comparison) -> list[tuple[str, bool | None]]:
    """What is asserted, and whether it holds; None where this machine lacks the meter."""
    return [(text, _holds(text, runs["broken"], runs["cured"])) for text in case.asserts]


def _holds(text: str, broken: Recording, cured: Recording) -> bool | None:
    values = {**(broken.value or {}), **(cured.value or {})}
    names = values | {"broken": _side(broken), "cured": _side(cured)}
    try:
        return bool(eval(compile(text, "<asserts>", "eval"), names))
    # None, where there is no such meter; nothing, where a program died
    except (AttributeError, TypeError, KeyError):
        return None if broken.anonymous is None else False


def _side(run: Recording) -> SimpleNamespace:
    of_run = {name: getattr(run, name) for name in (*vars(run), "peak", "left") if name != "value"}
    return SimpleNamespace(**of_run | (run.value or {}))


def asserted(case: Case, run: Recording) -> dict[str, Any]:
    """What is asserted about, as it was in this run: {"io.read_calls": 65_537, "total":
    2_147_450_880}.
    """
    nodes = [
        node
        for text in case.asserts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
    ]
    inner = {id(node.value) for node in nodes}
    roots = (ast.unparse(node).partition(".") for node in nodes if id(node) not in inner)
    found = {}
    for path in sorted({path for root, _, path in roots if root in ("broken", "cured")}):
        with suppress(AttributeError):  # a program that died has none
            found[path] = attrgetter(path)(_side(run))
    return found


def _wanted(case: Case) -> frozenset[str]:
    """The programs' own names that are asserted about: `size`, `broken.kept`."""
    nodes = [node for text in case.asserts for node in ast.walk(ast.parse(text))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})


def _imported(case: Case) -> list[str]:
    """What the programs import at their top, so that it doesn't count."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in case.programs.values())
    return sorted({module for tree in trees for node in tree.body for module in imported(node)})
