"""One file to hand in: the notebook as saved and its predictions, or a clear refusal."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import folders
from helpers.teach import exercise, hand_in, state
from helpers.teach.hand_in import NotSaved
from helpers.teach.handing_in import main
from helpers.teach.notebook_files import NoNotebook
from helpers.teach.work import main as work

LESSON = "02_copy_a_big_file.ipynb"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a student who has a copy of every lesson, and has made predictions in two."""
    monkeypatch.setenv("ZERO_COPY_WORK", str(tmp_path / "own"))
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path / "state"))
    work([])
    for key, value in {
        "02.chunk": 256.0,
        "02.way": ["mmap", "read"],
        "03.disk": 1.0,
        "020.x": 2.0,
    }.items():
        state.keep("predictions", key, value)
    return tmp_path / "own"


def held(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_one_file_holds_the_notebook_and_this_lesson_s_predictions(own: Path):
    said = hand_in("02", "Ada Lovelace")
    made = own / "hand-in" / "02_Ada-Lovelace.zip"
    found = held(made)
    assert set(found) == {LESSON, "predictions.json"}
    assert found[LESSON] == (own / LESSON).read_bytes()
    assert json.loads(found["predictions.json"]) == {"02.chunk": 256.0, "02.way": ["mmap", "read"]}
    assert said.text.startswith(f"{made} is ready: your notebook {LESSON} as you saved it at ")
    assert "2 predictions" in said.text
    assert "02.chunks: starter, 02.hidden: starter, 02.report: starter." in said.text
    assert '<a href="hand-in/02_Ada-Lovelace.zip" download>' in said.html
    assert "quiz" not in said.text
    state.keep("quizzes", "02.counter", "cb")
    state.keep("late", "02.half", [7.0])  # a prediction that was made after its measurement
    assert "2 predictions and answers to 1 quiz." in hand_in("02", "Ada Lovelace").text
    answered = json.loads(held(made)["predictions.json"])
    assert answered == {"02.chunk": 256.0, "02.way": ["mmap", "read"], "02.quiz-counter": "cb"}
    before = made.read_bytes()
    hand_in("02", "Ada Lovelace")
    assert made.read_bytes() == before, "the same bytes of the same work"


@pytest.mark.parametrize(
    ("name", "file"),
    [("../../x", "x"), ("Zoë D'Arc", "Zoë-D-Arc"), ("a" * 300, "a" * 40), ("//", "student")],
)
def test_any_name_is_a_file_name(own: Path, name: str, file: str):
    hand_in("02", name)
    assert os.listdir(own / "hand-in") == [f"02_{file}.zip"]


def test_a_number_names_its_lesson_and_0_is_the_first(own: Path):
    hand_in(0, "ada")
    assert os.listdir(own / "hand-in") == ["00_ada.zip"]


def test_what_cannot_be_handed_in_is_refused(own: Path):
    with pytest.raises(ValueError, match=r"no lesson '22'; there are: 00, 01"):
        hand_in("22")
    (own / LESSON).write_text("{")
    with pytest.raises(NoNotebook, match=rf"{LESSON} cannot be read as a notebook: not JSON"):
        hand_in("02")
    (own / LESSON).unlink()
    with pytest.raises(FileNotFoundError, match=rf"no .*{LESSON}.*make fresh LESSON=02"):
        hand_in("02")
    assert not (own / "hand-in").exists()


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_what_is_in_the_way_of_the_zip_is_named(own: Path):
    folder = own / "hand-in"
    file = own / "hand-in" / "02_ada.zip"
    for path, make, away in (
        (folder, folder.touch, folder.unlink),
        (file, lambda: file.mkdir(parents=True), file.rmdir),
        (folder, lambda: folder.chmod(0o500), lambda: folder.chmod(0o700)),
    ):
        make()
        with pytest.raises(
            SystemExit,
            match=rf"^{re.escape(str(path))}.* is in the way of your zip \(.*Move it away",
        ):
            main(["02", "--name", "ada"])
        away()


def test_what_was_run_must_be_in_the_file(own: Path, shell: InteractiveShell):
    """The last run of each exercise of this lesson, whatever was run before."""
    shell.run_cell("from helpers.teach import exercise", store_history=True)
    shell.run_cell("exercise('02.chunks').check(None)", store_history=True)
    with pytest.raises(
        NotSaved, match=r"ran last for exercise\(\"02\.chunks\"\)\. Save the notebook"
    ):
        hand_in("02", "ada")
    assert not (own / "hand-in").exists()
    hand_in("03", "ada")
    shell.run_cell(f"{exercise('02.chunks').cell}\n", store_history=True)
    hand_in("02", "ada")
    assert sorted(os.listdir(own / "hand-in")) == ["02_ada.zip", "03_ada.zip"]


CHUNKS = exercise("02.chunks")
CHECK = '\n\nexercise("02.chunks").check(copy_small)'
ANSWER = CHUNKS.solution_source + CHECK


def saved(own: Path, suffix: str = "", *cells: str) -> Path:
    """A copy of the lesson, saved after all others, with these cells in place of the one for
    02.chunks.
    """
    path = own / f"{Path(LESSON).stem}{suffix}.ipynb"
    notebook = json.loads((folders.NOTEBOOKS / LESSON).read_text())
    at = next(
        at for at, cell in enumerate(notebook["cells"]) if "".join(cell["source"]) == CHUNKS.cell
    )
    cell = notebook["cells"][at]
    notebook["cells"][at : at + 1] = [
        cell | {"id": f"own-{n}", "source": text} for n, text in enumerate(cells)
    ]
    path.write_text(json.dumps(notebook))
    last = max((other.stat().st_mtime for other in own.glob("02_*.ipynb")), default=0)
    os.utime(path, (last + 60, last + 60))
    return path


STANDS = [  # the cells in place of the one for 02.chunks, and what is said
    ([ANSWER], "02.chunks: answered, 02.hidden: starter, 02.report: starter."),
    ([CHUNKS.cell], "02.chunks: starter, 02.hidden: "),
    ([CHUNKS.cell], "No exercise in it is answered."),
    (
        ["def copy_small(a, b)\n    pass"],
        "cell 35, which defines copy_small, isn't valid Python, line 1: expected ':'",
    ),
    ([], "02.chunks: not there, 02.hidden: "),
    ([ANSWER, CHUNKS.cell], "02.chunks: answered, "),
    (
        [ANSWER, "def copy_small(source, target): return 1"],
        "cell 36 defines it again below the cell that checks it",
    ),
    (
        ["best = min(swept)", ANSWER.replace("2**20", "best")],
        "best isn't there: your notebook made it with compare.",
    ),
]


def test_it_says_how_each_exercise_stands(own: Path):
    for cells, said in STANDS:
        saved(own, "", *cells)
        assert said in hand_in("2").text, cells


def test_it_names_what_the_file_does_not_define(
    own: Path, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
):
    shell.run_cell("MINE = 2**20", store_history=True)
    monkeypatch.setenv("JPY_SESSION_NAME", str(saved(own, "", ANSWER.replace("2**20", "MINE"))))
    said = hand_in("02").text
    assert "02.chunks: can't be graded" in said
    assert "MINE isn't there: no cell shows" in said


def test_in_a_lesson_it_needs_no_argument_and_elsewhere_it_takes_the_copy_with_answers(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell
):
    answered = saved(own, "", ANSWER)
    scratch = tmp_path / "scratch.ipynb"
    scratch.write_text(
        answered.read_text().replace(json.dumps(ANSWER), json.dumps('exercise("02.chunks").hint()'))
    )
    monkeypatch.setenv("JPY_SESSION_NAME", str(scratch))
    assert packed(own) == answered.read_bytes(), "not the notebook that only asked for a hint"
    with pytest.raises(
        ValueError, match=r'no lesson\'s notebook; say which lesson to hand in: hand_in\("02"\)'
    ):
        hand_in()
    monkeypatch.setenv("JPY_SESSION_NAME", str(answered))
    assert f"your notebook {LESSON} as you saved it" in hand_in().text


def test_what_was_right_and_is_not_saved_is_said_in_bold(own: Path):
    state.keep("exercises", "02.chunks", {"attempts": 1, "right": True})
    said = "You got 02.chunks right, but that answer isn't in this file."
    assert f"<strong>{said}</strong>" in hand_in("02").html
    saved(own, "", ANSWER)
    assert said not in hand_in("02").text


def packed(own: Path, **options: str) -> bytes:
    hand_in("02", "ada", **options)
    return held(own / "hand-in" / "02_ada.zip")[LESSON]


@pytest.mark.parametrize("suffix", ["-fresh", "-Copy1"])
def test_the_work_in_a_copy_can_be_handed_in(
    own: Path, suffix: str, shell: InteractiveShell, monkeypatch
):
    """Of copies with an answer the last; in a kernel, the notebook that calls it."""
    copy = saved(own, suffix, ANSWER)
    assert packed(own) == copy.read_bytes()
    assert "isn't in it" not in hand_in("02").text
    first = saved(own, "", ANSWER)
    assert packed(own) == first.read_bytes()
    assert packed(own, file=str(copy)) == copy.read_bytes()
    saved(own, f"{suffix}-2", CHUNKS.cell)
    assert packed(own) == first.read_bytes(), "not the untouched one"
    for told in ({"JPY_SESSION_NAME": str(copy)}, {"__vsc_ipynb_file__": str(copy)}):
        with monkeypatch.context() as kernel:
            kernel.setattr(os, "environ", os.environ | told)
            kernel.setattr(shell, "user_ns", shell.user_ns | told)
            assert packed(own) == copy.read_bytes()
            assert f"your notebook {copy.name} as you saved it" in hand_in("02").text
            assert f"Another copy isn't in it: {LESSON}, saved later, at " in hand_in("02").text
            assert f"make hand-in LESSON=02 FILE={first}" in hand_in("02").text


def test_the_command_needs_no_kernel(own: Path, capsys: pytest.CaptureFixture):
    main(["02", "--name", "ada"])
    assert capsys.readouterr().out.startswith(str(own / "hand-in" / "02_ada.zip"))
    for asked, said in (("", "make hand-in LESSON=02"), ("99", "no lesson '99'")):
        with pytest.raises(SystemExit, match=said):
            main([asked])
    command = [sys.executable, "-m", "helpers.teach.handing_in", "02", "--name", "Zoë"]
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}  # a terminal that can't show the name
    done = subprocess.run(command, env=ascii_only, cwd=folders.ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "02_Zo?.zip is ready" in done.stdout
    assert len(os.listdir(own / "hand-in")) == 2
