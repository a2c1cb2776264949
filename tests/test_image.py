"""What runs the lessons elsewhere: an image, its values for Zero to JupyterHub, Binder's files, a
dev container.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import jsonschema
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook
from test_environment import locked
from test_versions import UV, run

from helpers.folders import ROOT

IMAGE = ROOT / "classroom/image"
TEXT = (IMAGE / "values.yaml").read_text(encoding="utf-8")
VALUES = yaml.safe_load(TEXT)
CONTAINER = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
unix = pytest.mark.skipif(os.name == "nt", reason="a script for sh")


def faults(name: str, of: dict) -> list[str]:
    """What its schema (tests/schemas/README.md) has against it."""
    schema = json.loads((ROOT / f"tests/schemas/{name}.json").read_text(encoding="utf-8"))
    return list(map(str, jsonschema.validators.validator_for(schema)(schema).iter_errors(of)))


def test_values_fit_the_schema_of_the_chart():
    assert faults("zero-to-jupyterhub", VALUES) == []
    assert len(faults("zero-to-jupyterhub", {"singleuser": {"memory": {"limits": "2G"}}})) == 1


@pytest.mark.slow
@unix
def test_the_values_let_in_whom_they_should(tmp_path: Path):
    """A JupyterHub with their configuration: launches.py tries to get in."""
    run(
        UV,
        "pip",
        "install",
        "-q",
        "--python",
        sys.executable,
        "--require-hashes",
        "--no-deps",
        "--target",
        tmp_path,
        "-r",
        "tests/launches.lock",
        capture_output=False,
        check=True,
    )
    subprocess.check_call(
        [sys.executable, ROOT / "tests/launches.py"], cwd=tmp_path, env={"PYTHONPATH": "."}
    )


def test_the_image_has_what_the_values_ask_for():
    (version,) = locked("classroom/image/requirements.lock")["jupyterhub"]
    assert f"JupyterHub is {version.rpartition('.')[0]}." in TEXT
    assert all((IMAGE / path).exists() for path in re.findall(r"[\w./]+\.(?:md|py)\b", TEXT))
    recipe = (IMAGE / "Containerfile").read_text(encoding="utf-8")
    assert f'CMD ["{VALUES["singleuser"]["cmd"][0]}"]' in recipe
    assert "--create-home jovyan" in recipe


def test_dev_container_fits_its_schema():
    assert faults("devcontainer", CONTAINER) == []
    assert faults(
        "devcontainer", CONTAINER | {"image": 3, "hostRequirements": {"memory": "4 gigabytes"}}
    )


@unix
def test_binder_starts_with_copies_of_the_lessons(tmp_path: Path):
    assert all(os.access(ROOT / ".binder" / name, os.X_OK) for name in ("postBuild", "start"))
    own = {
        "ZERO_COPY_WORK": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [ROOT / ".binder/start", "sh", "-c", 'ls "$ZERO_COPY_WORK"; echo $ZERO_COPY_SIZE']
    said = subprocess.check_output(command, cwd=ROOT, env=os.environ | own, text=True)
    assert "00_start_here.ipynb" in said
    assert said.endswith("64MiB\n")


@pytest.mark.slow
@unix
def test_without_a_hub_a_student_s_server_is_a_jupyterlab(tmp_path: Path):
    """And with one, it isn't: this environment has no JupyterHub."""
    (tmp_path / "course").mkdir()
    (tmp_path / "course/.venv").symlink_to(sys.prefix)
    script = shutil.copy(ROOT / "classroom/hub/start-student", tmp_path)
    own = os.environ | {"HOME": str(tmp_path), "ZERO_COPY_WORK": str(tmp_path / "my_lessons")}
    alone = subprocess.run([script, "--version"], env=own, text=True, capture_output=True)
    assert re.search(r"^4\.\d+\.\d+$", alone.stdout, re.MULTILINE)
    assert (tmp_path / "my_lessons").is_dir()
    on_a_hub = subprocess.run(
        [script, "--version"], env=own | {"JUPYTERHUB_API_TOKEN": "x"}, capture_output=True
    )
    assert on_a_hub.returncode
    assert b"jupyterhub-singleuser" in on_a_hub.stderr


def test_binder_s_own_builder_takes_our_python_and_files(tmp_path: Path):
    """Without conda and Docker, what it would build is all that there is to see."""
    pytest.importorskip("repo2docker", reason="only `make test-libraries ROWS=others` has it")
    shutil.copytree(ROOT / ".binder", tmp_path / ".binder")
    done = run(sys.executable, "-m", "repo2docker", "--no-build", "--debug", tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    python = re.search(r"- python=(\S+)", (ROOT / "environment.yml").read_text(encoding="utf-8"))[1]
    assert f"Building conda environment for python={python}" in said
    assert f"environment-2epy-2d{python.replace('.', '-2e')}-2d" in said, "its lock for this Python"
    assert "RUN ./.binder/postBuild" in said
    assert 'ENV R2D_ENTRYPOINT="${REPO_DIR}/.binder/start"' in said


def test_hadolint_finds_nothing():
    hadolint = Path(sysconfig.get_path("scripts"), "hadolint")
    if not hadolint.exists():
        pytest.skip("only `make test-libraries ROWS=others` has it")
    done = run(hadolint, IMAGE / "Containerfile")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "verdicts, red",
    [(["differs", "holds"], False), (["differs"] * 3, True), (["recorded"] * 3, True)],
)
def test_a_lesson_whose_claims_differ_has_three_tries(
    tmp_path: Path, verdicts: list[str], red: bool
):
    left = tmp_path / "left"
    source = f"""from pathlib import Path
from IPython.display import HTML
left = Path({str(left)!r})
verdict, *rest = left.read_text().split()
left.write_text(" ".join(rest))
HTML(f'<div class="zc-claim" data-verdict="{{verdict}}"><dl><dt>Said</dt> <dd>so</dd></dl></div>')
"""
    left.write_text(" ".join(verdicts))
    (tmp_path / "work").mkdir()
    nbformat.write(
        new_notebook(cells=[new_code_cell(source, id="a-claim")]),
        tmp_path / "work" / "99_try.ipynb",
    )
    environment = os.environ | {
        "ZERO_COPY_WORK": str(tmp_path / "work"),
        "ZERO_COPY_STATE": str(tmp_path / "state"),
    }
    program = (IMAGE / "run_lessons.py").read_text(encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-", "99"], input=program, env=environment, capture_output=True, text=True
    )
    assert (ended.returncode, not left.read_text()) == (int(red), True), ended.stderr
    assert ended.stdout.count("99, cell a-claim: Said so") == verdicts.count("differs")
