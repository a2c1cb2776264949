"""The rule for what is measured (conftest.py), and which tests must follow it."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.folders import ROOT

HERE = Path(__file__).parent
FIGURES = re.compile(r"\b(monotonic|perf_counter|process_time)\(\)|measure\(.*\)\.(peak|faults|wall)|run\.peak\.")
EXAMPLE = """
import pytest
seen = []

@pytest.mark.measured
def test_third_time():
    seen.append("measured")
    assert len(seen) > 3, f"measured {len(seen)}"

@pytest.mark.measured
def test_never():
    assert 2 < 1

def test_first():
    seen.append("first")
    assert seen == ["first"]

def test_fails():
    assert not seen
"""


@pytest.fixture
def said(tmp_path: Path) -> str:
    """What pytest says of the example."""
    (path := tmp_path / "test_example.py").write_text(EXAMPLE)
    own = os.environ | {"PYTHONPATH": str(HERE)}
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "conftest", "-v", path]
    return subprocess.run(command, cwd=path.parent, env=own, capture_output=True, text=True).stdout


def test_what_is_measured_comes_last_and_passes_once_in_three_and_each_failure_is_printed(said: str):
    ran = re.findall(r"::test_(\w+) (PASSED|RERUN|FAILED)", said)
    again = [(name, "RERUN") for name in ("third_time", "never") for _ in "12"]
    assert ran == [
        ("first", "PASSED"), ("fails", "FAILED"),
        *again[:2], ("third_time", "PASSED"), *again[2:], ("never", "FAILED"),
    ]  # fmt: skip
    told = re.findall(r"measured again: .*::test_(\w+)\n  (?:AssertionError: )?(.*)", said)
    assert told == [("third_time", "measured 2"), ("third_time", "measured 3"), *[("never", "assert 2 < 1")] * 2]


def test_who_asserts_a_time_or_a_peak_is_marked():
    unmarked = []
    for path in HERE.glob("test_*.py"):
        module = ast.parse(path.read_text("utf-8"))
        of_all = [node for node in module.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
        for test in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
            asserted = [ast.unparse(part) for part in ast.walk(test) if isinstance(part, ast.Assert)]
            is_marked = "mark.measured" in " ".join(map(ast.unparse, (*of_all, *test.decorator_list)))
            if test.name.startswith("test_") and not is_marked and any(map(FIGURES.search, asserted)):
                unmarked.append(f"{path.name}: {test.name}")
    assert not unmarked
