"""`make wheel`: %measure for a project of one's own, beside its modules of any name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import student_edition

from helpers.safe_files import write_folder

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment that has nothing but the wheel, and a module called helpers. The
    wheel is made from the students' edition.
    """
    folder = tmp_path_factory.mktemp("project")
    write_folder(folder / "edition", student_edition.files())
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist"]
    subprocess.run(build, cwd=folder / "edition/wheel", check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    subprocess.run(
        [BIN / "uv", "venv", "-q", "--python", sys.executable, folder / "env"], check=True
    )
    subprocess.run(
        [BIN / "uv", "pip", "install", "-q", "--python", folder / "env", wheel], check=True
    )
    (folder / "helpers.py").write_text(
        "mine = 'my own module'\n\n\ndef load(size):\n    return b'x' * size\n"
    )
    return folder


def run(project: Path, *command: str) -> str:
    its_own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=project, env=its_own, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_measures_beside_a_module_called_helpers(project: Path):
    program = """
import helpers
from zero_copy_measured.measure import measure, where
from zero_copy_measured.show import curves
run = measure(helpers.load, 32 * 2**20)
print(helpers.mine, run.peak.anonymous > 30 * 2**20,
      where(bytes(9)).memory, curves({"load": run}).alt)
"""
    (project / "program.py").write_text(program)
    said = run(project, project / "env/bin/python", "program.py")
    assert said.startswith("my own module True heap ")
    assert "32 MiB" in said


@pytest.mark.slow
def test_the_magic_runs_in_a_shell(project: Path):
    lines = "%load_ext zero_copy_measured\nfrom helpers import load\n%measure -o load(32 * 2**20)"
    assert "returned, peak 32 MiB anonymous" in run(
        project, project / "env/bin/ipython", "--no-banner", "-c", lines
    )


@pytest.mark.slow
def test_a_script_is_measured_with_the_wheel_alone(project: Path):
    (project / "script.py").write_text("import helpers\nkept = helpers.load(32 * 2**20)\n")
    said = run(
        project,
        project / "env/bin/python",
        "-m",
        "zero_copy_measured.measure",
        "--stack",
        "script.py",
    )
    assert "in a run of its own with memray" in said
    assert "helpers.load(" in said
