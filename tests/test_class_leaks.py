"""Nothing in the students' edition answers an exercise: no file or note of the teacher's, no
function of an answer, and no function in a check that could be handed in.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import student_edition

from helpers.folders import EXERCISES, TEACHER
from helpers.teach import Exercise, exercise_files
from helpers.teach.exercises import exercises
from helpers.teach.source import source_named
from helpers.units import MiB

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pieces(name: str, data: bytes) -> list[str]:
    """The Python in a file of the edition."""
    if name.endswith(".md"):
        return BLOCK.findall(data.decode())
    if name.endswith(".ipynb"):
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data)["cells"]]
        return [
            piece
            for kind, text in cells
            for piece in ([text] if kind == "code" else BLOCK.findall(text))
        ]
    return [data.decode()] if name.endswith(".py") else []


def bodies(text: str) -> Iterator[str]:
    """The body of each function of at least four lines, without its docstring, comments and
    layout.
    """
    with suppress(SyntaxError):
        for node in ast.walk(ast.parse(re.sub("^[%!].*", "", text, flags=re.MULTILINE))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = "\n".join(
                    map(ast.unparse, node.body[1:] if ast.get_docstring(node) else node.body)
                )
                if lines.count("\n") >= 3:
                    yield lines


def leaks(files: dict[str, bytes]) -> set[str]:
    """The files of right and wrong answers that have a function whose body is in these files
    too.
    """
    given = {
        body for name in files for piece in pieces(name, files[name]) for body in bodies(piece)
    }
    given -= {body for one in exercises() for body in bodies(one.starter)}
    answers = [
        path
        for place in ("solution.py", "right/*.py", "wrong/*.py")
        for path in EXERCISES.glob(f"*/*/{place}")
    ]
    assert len(answers) > 300
    texts = {
        path.relative_to(EXERCISES).as_posix(): path.read_text(encoding="utf-8") for path in answers
    }
    return {name for name, text in texts.items() if given & set(bodies(text))}


def test_no_function_of_an_answer_is_in_it():
    assert not leaks(student_edition.files())


@pytest.mark.parametrize(
    "name", ["helpers/show/more.py", "exercises/02/chunks/hints.md", "notebooks/02_x.ipynb"]
)
def test_a_copied_answer_is_found(name: str):
    text = (EXERCISES / "02/chunks/solution.py").read_text(encoding="utf-8").replace("    ", "  ")
    cell = {"cell_type": "code", "source": f"%time 1\n{text}"}
    data = {"md": f"```python\n{text}```\n", "ipynb": json.dumps({"cells": [cell]})}.get(
        name.rpartition(".")[2], text
    )
    assert "02/chunks/solution.py" in leaks({name: data.encode()})


def test_no_file_of_the_teacher_s_is_in_it():
    here = {name for name in student_edition.files() if name.startswith("exercises/")}
    parts = r"quizzes\.toml|quizzes\.py|\w+/(prompt\.md|hints\.md|starter\.py|check\.py)"
    more = {
        Path(name).name for name in here if not re.fullmatch(rf"exercises/\d\d/({parts})", name)
    }
    shown = {
        "recorded.toml",
        "recorded.json",
        "loaders.toml",
        "kinds.toml",
        "server.py",
        "start.py",
        "programs.py",
        "programs.toml",
    }
    assert more == shown | {"class-edition.toml"}
    tops = {name.partition("/")[0] for name in student_edition.files()}
    assert not tops & {"teacher", "tests", "benchmarks", "CONTRIBUTING.md", ".ci", "build"}
    assert not [
        name for name in student_edition.files() if re.match(r"helpers/(classroom|publish)/", name)
    ]


def test_no_note_for_teachers_is_in_it():
    everything = "\n".join(
        data.decode(errors="replace") for data in student_edition.files().values()
    )
    everything = everything.replace('\\"', '"')  # a notebook escapes quotes
    texts = [path.read_text(encoding="utf-8") for path in TEACHER.glob("*.md")]
    notes = {line for text in texts for line in re.split(r"\n|(?<=[.?!]) ", text) if len(line) > 40}
    assert len(notes) > 100
    assert not [note for note in notes if note in everything]


def could_be_handed_in() -> list:
    """Each exercise, with each function of its check.py that can be called like the one the
    exercise asks for.
    """
    pairs = []
    for one in exercises():
        arguments = len(inspect.signature(one.made(one.starter)).parameters)
        for name, function in inspect.getmembers(
            exercise_files.check(one.folder), inspect.isfunction
        ):
            taken = list(inspect.signature(function).parameters.values())
            needed = [parameter for parameter in taken if parameter.default is parameter.empty]
            is_its_own = function.__code__.co_filename == str(one.folder / "check.py")
            # it takes the student's function
            asks = taken and taken[0].name in ("attempt", "function")
            if is_its_own and not asks and len(needed) <= arguments <= len(taken):
                pairs.append(pytest.param(one, name, id=f"{one.key}-{name}"))
    return pairs


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.slow
@pytest.mark.parametrize(("one", "name"), could_be_handed_in())
def test_no_function_of_a_check_is_an_answer(one: Exercise, name: str):
    given = ", ".join(inspect.signature(one.made(one.starter)).parameters)
    text = (one.folder / "check.py").read_text(encoding="utf-8")
    text += (
        f"\n\nof_the_check = {name}\n\n\ndef {one.name}({given}):\n    return "
        f"of_the_check({given})\n"
    )
    verdict = one.check(
        source_named([("<check>", text)], one.name), size=min(one.size, 32 * MiB), timeout=4
    )
    assert verdict.outcome != "right", repr(verdict)
