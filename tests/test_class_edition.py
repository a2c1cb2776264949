"""The students' edition: made from a commit, the same bytes everywhere; and what a student has
after unzipping it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import student_edition

from helpers.classroom import hand_out
from helpers.classroom.hand_out import NAME
from helpers.folders import ROOT
from helpers.teach import exercise, exercise_files, quiz

pytestmark = pytest.mark.slow

OF = student_edition.OF
in_a_checkout = pytest.mark.needs(tool="git")
unix = pytest.mark.skipif(os.name == "nt", reason="make, sh and umask")


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a student who has unzipped it somewhere."""
    folder = tmp_path_factory.mktemp("student")
    (archive := folder / "class.zip").write_bytes(hand_out.zipped(student_edition.files(), OF))
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder / NAME


def in_it(student: Path, code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Runs code as a student would: with the helpers from that folder, and no git on the PATH."""
    own = {
        "PATH": str(tmp_path),
        "PYTHONPATH": str(student),
        "ZERO_COPY_STATE": str(tmp_path / "state"),
    }
    own |= {"ZERO_COPY_DATA": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=tmp_path, env=os.environ | own, text=True, capture_output=True, timeout=120
    )


# --- how it is made -------------------------------------------------------------------------------
def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return folder


def made(
    checkout: Path, *words: str, module: str = "hand_out", umask: int = -1, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs `make class` in a checkout, or another module of the classroom."""
    command = [sys.executable, "-B", "-m", f"helpers.classroom.{module}", *words]
    own = os.environ | {"PYTHONPATH": str(checkout)} | environment
    return subprocess.run(
        command, cwd=checkout, env=own, umask=umask, text=True, capture_output=True
    )


@in_a_checkout
@unix
def test_a_commit_makes_the_same_bytes_everywhere(tmp_path: Path):
    """Even with another umask, language, time zone and folder, with git converting line ends, and
    unfinished work.
    """
    one = clone(tmp_path / "one")
    other = clone(tmp_path / "another folder")
    said = made(one)
    assert said.returncode == 0, said.stderr
    assert "not committed" not in said.stdout
    assert re.search("^Lessons: 00, 01, .*, 11$", said.stdout, re.MULTILINE)
    for name, value in (
        ("core.autocrlf", "true"),
        ("core.eol", "crlf"),
        ("status.showUntrackedFiles", "no"),
    ):
        subprocess.run(["git", "config", name, value], cwd=other, check=True)
    (other / ".git/info/attributes").write_text("* text=auto eol=crlf\n")
    (other / "helpers/units.py").write_text(
        "# half done\n" + (other / "helpers/units.py").read_text()
    )
    said = made(other, umask=0o077, LC_ALL="C", TZ="Asia/Kolkata", PYTHONHASHSEED="7")
    assert said.returncode == 0, said.stderr
    assert re.search(
        "^Not in it, because not committed: .*helpers/units.py", said.stdout, re.MULTILINE
    )
    archive, twin = (folder / "build/class" / f"{NAME}.zip" for folder in (one, other))
    assert archive.read_bytes() == twin.read_bytes()
    assert (
        f"{sha256(archive.read_bytes()).hexdigest()}  {NAME}.zip\n"
        == Path(f"{archive}.sha256").read_text()
    )
    folder = archive.with_suffix("")
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        assert names == sorted(names)
        assert all(opened.read(name) == (folder.parent / name).read_bytes() for name in names)
        assert {one.external_attr >> 16 for one in opened.infolist()} == {0o100644}
    assert {
        path.relative_to(folder.parent).as_posix() for path in folder.rglob("*") if path.is_file()
    } == set(names)


@in_a_checkout
def test_without_a_commit_nothing_is_written(tmp_path: Path):
    copy = clone(tmp_path / "copy")
    shutil.rmtree(copy / ".git")
    said = made(copy)
    assert said.returncode == 1
    assert "git finds no commit" in said.stderr
    assert "Traceback" not in said.stderr
    assert not (copy / "build").exists()


@in_a_checkout
def test_somebody_s_work_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hand_out, "FOLDER", tmp_path / "class")
    own = tmp_path / "class" / NAME / "my_lessons" / "02.ipynb"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    with pytest.raises(hand_out.NotReady, match="my_lessons is somebody's work"):
        hand_out.hand_out()
    assert own.read_text() == "mine"


def test_some_lessons_are_an_edition_too():
    files = hand_out.student_files(student_edition.tree(), OF, ["2", "03"])
    lessons = [name for name in files if re.match(r"notebooks/[^/]+\.ipynb", name)]
    assert [Path(name).name[:2] for name in lessons] == ["00", "02", "03"]
    assert {name.split("/")[1] for name in files if re.match(r"exercises/\d", name)} == {
        "00",
        "02",
        "03",
    }
    assert re.findall(r"^\| (\d\d) ", files["README.md"].decode(), re.MULTILINE) == [
        "00",
        "02",
        "03",
    ]
    with pytest.raises(ValueError, match="no lesson '20'; "):
        hand_out.student_files(student_edition.tree(), OF, ["20"])
    all_of_it = set(student_edition.files())
    assert set(files) < all_of_it
    assert {name for name in all_of_it if name.startswith("data/")} <= set(files)


@pytest.mark.parametrize("lessons", [[], ["03"]])
def test_every_link_leads_somewhere(lessons: list[str]):
    files = hand_out.student_files(student_edition.tree(), OF, lessons)
    pages = {name: files[name].decode() for name in files if name.endswith("README.md")}
    for name in files:
        if name.endswith(".ipynb"):
            cells = json.loads(files[name])["cells"]
            pages[name] = "\n".join(
                "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
            )
    for name, text in pages.items():
        for link in re.findall(r"\]\((?!\w+:)([^)#]+)", text):
            assert os.path.normpath(Path(name).parent / link) in files, f"{name} links to {link}"


# --- what a student has ---------------------------------------------------------------------------
def test_an_edition_says_which_it_is_without_git(student: Path, tmp_path: Path):
    told = in_it(student, "from helpers.edition import edition; print(edition())", tmp_path)
    assert told.stdout.strip() == str(OF) == "2026-11-22 (0123456)", told.stderr
    for path in student.glob("notebooks/*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert notebook["metadata"].pop("zero_copy") == {"edition": str(OF), "commit": OF.commit}
        assert notebook == json.loads((ROOT / "notebooks" / path.name).read_text(encoding="utf-8"))
    assert str(OF) in (student / "README.md").read_text(encoding="utf-8")


def test_an_exercise_is_checked_and_its_solution_kept(student: Path, tmp_path: Path):
    one = exercise("02.chunks")
    wrong = next(answer for answer in one.wrong if answer.name == "tail_forgotten")
    answers = {"right": one.solution_source, "wrong": wrong.body}
    code = f"""
from helpers.teach import exercise, quiz
from helpers.teach.exercises import exercises
one, answers = exercise("02.chunks"), {answers!r}
assert one.right == one.wrong == [] and one.solution_source is None
print(one, one.hint(), one.hint(), one.hint(),
      one.solution(now=True), one.check(one.made(one.starter)), sep="\\n--\\n")
for name, text in answers.items():
    print(name, one.check(one.made(text), size="8 MiB").outcome)
print(len(exercises()), quiz("10.del").question)
"""
    told = in_it(student, code, tmp_path)
    assert told.returncode == 0, told.stderr
    shown, first, second, third, solution, rest = told.stdout.split("\n--\n")
    assert shown.startswith("Exercise 02.chunks:")
    assert "Hint 1 of 2" in first
    assert "1 more to come." in first
    assert "That was the last. Your teacher has the solution." in second
    assert third == "Those were all the hints. Your teacher has the solution."
    assert "shows a solution" not in told.stdout
    assert solution == "Your teacher has the solution."
    assert rest.splitlines()[-3:-1] == ["right right", "wrong not yet"]
    assert rest.splitlines()[-1] == f"{len(exercise_files.keys())} {quiz('10.del').question}"


def test_whatever_is_imported_is_there(student: Path, tmp_path: Path):
    """By lessons, exercises, and the helpers themselves."""
    done = in_it(
        student,
        Path(__file__).with_name("sample_imports.txt").read_text(encoding="utf-8"),
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


# --- its commands ---------------------------------------------------------------------------------
def terminal(**own: str) -> dict[str, str]:
    """The environment of a student's terminal, without the variables of a `make test` that may be
    running this.
    """
    return {
        name: os.environ[name]
        for name in os.environ.keys() - {"MAKEFLAGS", "MAKELEVEL", "PYTHONPATH"}
    } | own


def make(student: Path, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=student, env=terminal(**own), text=True, capture_output=True
    )


def test_its_readme_and_its_makefile_agree(student: Path):
    makefile = (student / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall("^make ([a-z-]+) ", make(student, "help").stdout, re.MULTILINE))
    assert {"help", "env", "lab", "clean", "distclean"} <= targets
    assert not targets & {"test", "test-all", "handouts", "class", "record", "format", "lock"}
    assert set(re.search(r"^\.PHONY: (help .*)", makefile, re.MULTILINE)[1].split()) == targets
    promised = set(
        re.findall(
            r"(?:^|`)make ([a-z-]+)", (student / "README.md").read_text("utf-8"), re.MULTILINE
        )
    )
    assert promised <= targets, "the README names commands that the Makefile does not have"
    for module in re.findall(r"-m (helpers[.\w]*)", makefile):
        path = student / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), (
            f"{module} is not in it"
        )


def test_a_new_edition_gets_a_new_environment_only_if_the_lock_is_new(
    student: Path, tmp_path: Path
):
    """Unzipped files carry the time of their commit, so they're older than the environment of the
    last edition.
    """
    here = Path(shutil.copytree(student, tmp_path / "here"))
    planned = make(here, "-n", "env")
    assert "venv --clear" in planned.stdout, planned.stderr
    stamp = re.findall(r"^touch (\S+)$", planned.stdout, re.MULTILINE)[0]
    (here / stamp).parent.mkdir()
    (here / stamp).touch()
    assert "venv --clear" not in make(here, "-n", "lab").stdout
    lock = here / "environment/requirements.lock"
    lock.write_text(lock.read_text().replace("numpy==2", "numpy==2.0", 1))
    os.utime(lock, (0, 0))
    assert "venv --clear" in make(here, "-n", "lab").stdout
