"""What a student has done, and how to get an exercise's starter back, wherever it's asked for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from helpers import folders
from helpers.teach import exercise, progress, state
from helpers.teach.exercises import exercises
from helpers.teach.notebook_files import read
from helpers.teach.quizzes import quizzes


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path))
    return tmp_path


def lines() -> dict[str, str]:
    """Each lesson's line, by its number."""
    return {line[:2]: line for line in progress().text.splitlines()[1:-3]}


def last() -> str:
    """The line with the bar, before that of the short path."""
    return progress().text.splitlines()[-2]


def test_at_first_nothing_is_attempted():
    assert list(lines()) == [lesson.name[:2] for lesson in folders.lessons()]
    stand = "chunks: not attempted · hidden: not attempted · report: not attempted"
    assert re.fullmatch(rf"02 Copy a big file +0 of \d +0 of \d +{stand}", lines()["02"])
    assert progress().text.splitlines()[-3].startswith("0 of ")
    assert re.fullmatch(r"░{40} 0 of \d+ done\. Next: 00 Start here\.", last())


def test_every_prediction_of_a_lesson_is_counted():
    """However a lesson writes them: 01 also asks over several lines."""
    cells = read(folders.lesson("01"))["cells"]
    asked = set(
        re.findall(
            r'predict\(\s*"(01\.[\w-]+)"', "\n".join("".join(cell["source"]) for cell in cells)
        )
    )
    assert len(asked) > 5
    assert re.search(rf"0 of {len(asked)} ", lines()["01"])


def test_feedback_that_the_teacher_gave_back_is_linked(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERO_COPY_WORK", str(tmp_path))
    assert "feedback" not in progress().text
    (tmp_path / "feedback").mkdir()
    for name in ("03.html", "02.html", "notes.txt"):
        (tmp_path / "feedback" / name).touch()
    assert (
        progress().text.splitlines()[-1]
        == "Your teacher's feedback: feedback/02.html, feedback/03.html"
    )
    links = BeautifulSoup(progress()._repr_html_(), "html.parser").select("a")
    assert [link["href"] for link in links] == ["feedback/02.html", "feedback/03.html"]


def test_what_was_done_is_shown():
    state.keep("exercises", "02.chunks", {"attempts": 3, "right": True})
    state.keep("exercises", "02.hidden", {"attempts": 1, "right": False})
    state.keep("exercises", "02.report", {"attempts": 4, "right": False})
    state.keep("predictions", "02.chunk", 256.0)
    state.keep("predictions", "02.of-an-older-edition", 256.0)
    state.keep("late", "02.chunk", [64.0])
    state.keep("late", "02.order", [["sendfile", "one buffer", "async chunks"]])
    state.keep("late", "02.three", [])
    state.keep("quizzes", "02.counter", "cb")
    state.keep("quizzes", "02.hops", "a")
    stand = "✓ chunks: right · ○ hidden: tried once · ○ report: tried 4 times"
    assert re.fullmatch(rf"02 Copy a big file +2 of \d, 1 late +1 of \d +{stand}", lines()["02"])
    assert progress().text.splitlines()[-3].startswith("1 of ")
    assert re.search(
        r' 4 of \d+ done\. Next: exercise\("02\.hidden"\) in 02 Copy a big file\.$', last()
    )
    page = BeautifulSoup(progress().html, "html.parser")
    assert [badge.get_text() for badge in page.select(".zc-badge")] == stand.split(" · ")
    assert page.progress["value"] == "4"
    assert len(page("tr")) == len(folders.lessons()) + 1


def test_when_all_is_done_nothing_is_next():
    for one in exercises():
        state.keep("exercises", one.key, {"attempts": 1, "right": True})
    assert "Next: 00" not in last()
    assert 'Next: quiz("00.zero-copy") in 00 Start here.' in last()
    for one in quizzes():
        state.keep("quizzes", one.key, "abcd")
    assert last().endswith("That's all there is.")


def test_the_short_path_goes_on_where_it_was_left(monkeypatch: pytest.MonkeyPatch):
    state.keep("predictions", "00.slice", 32.0)
    state.keep("quizzes", "00.zero-copy", "abcd")
    state.keep("late", "01.touch", [1.0])  # the quiz of this name isn't solved by it
    now = r"\nThe short path, 4 hours: 3 of \d\d .*Next: “Sixteen pages” in lesson 01\.$"
    assert re.search(now, progress().text)
    some = folders.lessons()[:4]
    monkeypatch.setattr(folders, "lessons", lambda: some)
    assert "short path" not in progress().text


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"02.chunks": 7}', '{"02.chunks": {"attempts": "many"}}']
)
def test_a_damaged_state_is_no_state(folder: Path, text: str):
    for name in ("exercises", "predictions"):
        (folder / f"{name}.json").write_text(text)
    assert "chunks: not attempted" in lines()["02"]


# --- the starter again ----------------------------------------------------------------------------
def test_in_plain_python_the_starter_is_shown():
    state.keep("exercises", "02.chunks", {"attempts": 3, "right": True})
    shown = exercise("02.chunks").reset()
    assert repr(shown) == exercise("02.chunks").cell
    assert "copy_small" in shown.html
    assert exercise("02.chunks").attempts == 3
    assert exercise("02.chunks").was_right


TERMINAL = """
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance()
shell.run_cell('from helpers.teach import exercise; exercise("02.chunks").reset()')
assert shell.rl_next_input == exercise("02.chunks").cell, shell.rl_next_input
"""


def test_in_a_terminal_it_is_at_the_next_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    code = f"from helpers.teach import exercise\n{TERMINAL}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folders.ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "The starter is at the next prompt." in done.stdout
