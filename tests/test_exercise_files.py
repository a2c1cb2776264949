"""The form of exercises/: whatever breaks it is refused, with its file, its line and what would be
right.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sample_lessons
from tables import each_of

from helpers import folders
from helpers.edition import CLASS_EDITION
from helpers.teach import exercise, exercise_files, quiz
from helpers.teach.exercise_files import Malformed
from helpers.teach.exercises import Exercise, exercises


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exercises/ folder for this test alone, with the sample in it."""
    made = Path(
        shutil.copytree(
            sample_lessons.EXERCISES, tmp_path / "exercises", ignore=lambda *_: ["__pycache__"]
        )
    )
    monkeypatch.setattr(folders, "EXERCISES", made)
    monkeypatch.setattr(folders, "ROOT", tmp_path)
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    return made


def all_of(one: Exercise) -> None:
    """Reads every file of an exercise."""
    assert one.right is not None
    assert one.wrong is not None
    assert exercise_files.check(one.folder)


def test_a_new_folder_is_a_new_exercise(root: Path):
    shutil.copytree(root / "02/sample", root / "03/another")
    assert [one.key for one in exercises()] == ["02.sample", "03.another"]
    one = exercise("03.another")
    all_of(one)
    assert (one.title, one.minutes, one.size) == ("Copy within 8 MiB", 10, 256 * 2**20)
    assert one.check(one.made(one.solution_source)).outcome == "right"
    verdict = one.check(one.made(one.wrong[0].source))
    assert (verdict.outcome, verdict.cause) == ("not yet", "other-bytes")


def test_code_in_a_prompt_fits_on_paper():
    texts = {
        one.key: one.folder.joinpath("prompt.md").read_text(encoding="utf-8") for one in exercises()
    }
    blocks = {key: text.split("```")[1::2] for key, text in texts.items()}
    assert sum(map(bool, blocks.values())) > 9
    assert not [
        (key, line)
        for key, found in blocks.items()
        for line in "".join(found).splitlines()
        if len(line) > 84
    ]


def replaced(old: str, new: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(path.read_text().replace(old, new, 1))


@each_of(
    ("file", "damage", "said"),
    ("prompt.md", Path.unlink, "exercises/02/sample: prompt.md is missing"),
    ("prompt.md", replaced("---\n", ""), "prompt.md, line 1: begin with a line '---'"),
    (
        "prompt.md",
        replaced("title:", "tittle:"),
        "prompt.md, line 2: 'tittle: Copy within 8 MiB' is none",
    ),
    (
        "prompt.md",
        replaced("minutes: 10", "minutes: ten"),
        "prompt.md, line 3: 'minutes: ten' is none of",
    ),
    ("prompt.md", replaced("size: 256 MiB", "size: 256 MB"), "prompt.md, line 4: "),
    ("prompt.md", replaced("minutes: 10\n", ""), "prompt.md, line 1: wanted: 'title"),
    (
        "prompt.md",
        lambda path: path.write_text(path.read_text().split("Write")[0]),
        "what to write",
    ),
    ("hints.md", replaced("## Hint 2", ""), "hints.md: write two hints"),
    ("hints.md", replaced("## Hint 2", "## Hint 2: Too short"), "'## Hint 1: too-short, too-long'"),
    (
        "hints.md",
        lambda path: path.write_bytes(path.read_bytes() + b"\xff"),
        "hints.md, line 8: not UTF-8",
    ),
    (
        "starter.py",
        lambda path: path.write_text("x = 1\n"),
        "starter.py, line 1: it defines no function",
    ),
    ("starter.py", replaced(":", ""), "starter.py, line 1: not Python"),
    ("solution.py", replaced("def copy", "def copi"), "line 1: it doesn't define 'copy'"),
    ("check.py", replaced("import Attempt", "import Attempd"), "check.py, line 3: ImportError"),
    (
        "right",
        shutil.rmtree,
        "exercises/02/sample: there is no folder right/; it holds two or more",
    ),
    (
        "wrong/nothing.py",
        replaced("other-bytes", "Other bytes"),
        "nothing.py, line 1: begin with '# expect: '",
    ),
    ("wrong/path.py", replaced("return", "retrun"), "wrong/path.py, line 3: not Python"),
    ("../quizzes.toml", replaced("[sample]", "[sample"), "quizzes.toml: not TOML"),
    (
        "../quizzes.toml",
        replaced("right = true", ""),
        "[sample] has 0 choices with 'right = true'; exactly one",
    ),
    (
        "../quizzes.toml",
        replaced('"It is as large as the file."', '" "'),
        "[sample] needs text for",
    ),
    (
        "../quizzes.toml",
        lambda path: path.write_text('sample = "Why?"'),
        "[sample] isn't question, measured_by",
    ),
    ("../quizzes.toml", replaced("feedback", "fedback"), "[sample] has a choice in another form"),
    ("../quizzes.py", Path.unlink, "exercises/02: quizzes.py is missing"),
)
def test_what_is_malformed_is_named(root: Path, file: str, damage: Callable, said: str):
    damage(root / "02/sample" / file)
    with pytest.raises(Malformed) as error:
        all_of(exercise("02.sample"))
        quiz("02.sample")
    assert said in str(error.value)


def test_only_a_class_edition_may_lack_what_the_teacher_has(root: Path):
    folder = root / "02/sample"
    (folder / "solution.py").unlink()
    shutil.rmtree(folder / "right")
    shutil.rmtree(folder / "wrong")
    with pytest.raises(Malformed, match=r"solution.py is missing"):
        exercise("02.sample")
    (root / CLASS_EDITION.name).write_text('day = "2026-11-22"\ncommit = "1a2b3c4"\n')
    one = exercise("02.sample")
    all_of(one)
    assert one.right == one.wrong == []
    assert one.solution_source is None


def test_a_check_that_was_edited_is_read_again(root: Path):
    one = exercise("02.sample")
    wrong = one.made(one.wrong[0].source)
    assert one.check(wrong).cause == "other-bytes"
    replaced("other-bytes", "no-copy")(root / "02/sample/check.py")
    assert one.check(wrong).cause == "no-copy"


@each_of(
    ("damage", "said"),
    (
        replaced("    return right", "    right"),
        "its judge returned None; return right(…) or within(…)",
    ),
    (replaced("attempt.run(run,", "attempt.run(runs,"), "(exercises/02/sample/check.py, line 14)"),
    (
        replaced("    function(source, target)", "    len(function(source, target))"),
        "(check.py, line 7)",
    ),
)
def test_a_fault_of_the_check_is_not_the_student_s(root: Path, damage: Callable, said: str):
    damage(root / "02/sample/check.py")
    one = exercise("02.sample")
    verdict = one.check(one.made(one.solution_source))
    assert verdict.outcome == "not yet"
    assert said in verdict.because
