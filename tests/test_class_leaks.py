"""Nothing in the students' edition answers an exercise: no file of the teacher's, no function that's nearly an answer,
and no function in a check that could be handed in.

Functions are compared by their shape: docstrings, comments, annotations, imports, and the names of parameters and
variables don't count.
"""

import ast
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import student_edition
from IPython.core.inputtransformer2 import TransformerManager

from helpers.folders import EXERCISES, TEACHER
from helpers.teach import Exercise, exercise_files
from helpers.teach.exercises import exercises
from helpers.teach.source import source_named
from helpers.units import MiB

pytestmark = pytest.mark.slow

HOSTILE = Path(__file__).with_name("hostile")
ALIKE, SHORT = 0.9, 25  # share of the tokens, in order; functions with fewer than SHORT tokens are alike by chance
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LESSON_SHOWS = "the lesson shows it, and the exercise asks for a little more"
KNOWN = {  # what may be alike: how the answer's file name begins, the place in the edition, and why
    ("02/chunks/right/whole_mapping.py", "02_copy_a_big_file.ipynb, copy-two-ways"): LESSON_SHOWS,
    ("02/chunks/right/asynchronous.py", "02_copy_a_big_file.ipynb, copy-async"): LESSON_SHOWS,
    ("03/lookup/wrong/", "03_choose_between_read_and_mmap.ipynb, choose-amplify"): "wrong: it lacks the advice",
    ("03/lookup/solution.py", "exercises/03/quizzes.py"): "lesson 03's `mapped`, with the advice that it teaches",
    ("01/report/", "helpers/measure/plain.py"): "reading the lines of /proc is not what the exercise asks about",
}


@cache
def answers() -> list[tuple[str, str, str]]:
    """Exercise, file and source of every right, wrong and hostile answer."""
    files = [*EXERCISES.glob("*/*/solution.py"), *EXERCISES.glob("*/*/right/*.py"), *EXERCISES.glob("*/*/wrong/*.py")]
    found = [(path.relative_to(EXERCISES).as_posix(), path) for path in sorted(files)]
    named = [(".".join(name.split("/")[:2]), name, path) for name, path in found]
    named += [(path.parent.name, f"hostile/{path.name}", path) for path in sorted(HOSTILE.glob("*/*.py"))]
    return [(key, name, path.read_text(encoding="utf-8")) for key, name, path in named]


def code(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Place and text of each piece of Python in a file of the edition."""
    if name.endswith(".py"):
        yield name, data.decode()
    elif name.endswith(".md"):
        yield from ((name, block) for block in BLOCK.findall(data.decode()))
    elif name.endswith(".ipynb"):
        for cell in json.loads(data)["cells"]:
            text, place = "".join(cell["source"]), f"{Path(name).name}, {cell['id']}"
            pieces = [text] if cell["cell_type"] == "code" else BLOCK.findall(text)
            yield from ((place, piece) for piece in pieces)


@cache
def shapes(text: str) -> tuple[tuple[str, ...], ...]:
    """The shape of each function, lambda and class in a piece of Python; none if it isn't Python."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    for read in (str, lambda text: TransformerManager().transform_cell(text)):
        with suppress(SyntaxError):
            tree = ast.parse(read(text))
            return tuple(tuple(shape(node)) for node in ast.walk(tree) if isinstance(node, kinds))
    return ()


def shape(function: ast.AST) -> Iterator[str]:
    """The tokens of the body of a function, lambda or class, in order."""
    inside = list(ast.walk(function))
    own = {node.arg for node in inside if isinstance(node, ast.arg)}
    own |= {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in inside if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    def tokens(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring, or `...`
            return
        if isinstance(node, ast.Name):
            yield "own" if node.id in own else node.id
        elif isinstance(node, ast.Constant):
            yield repr(node.value)
        else:
            yield type(node).__name__
            yield from (value for name in ("attr", "arg") if isinstance(value := getattr(node, name, None), str))
            for name, value in ast.iter_fields(node):
                if name not in ("annotation", "returns", "decorator_list", "ctx"):
                    parts = value if isinstance(value, list) else [value]
                    yield from (token for part in parts if isinstance(part, ast.AST) for token in tokens(part))

    body = function.body if isinstance(function.body, list) else [ast.Return(function.body)]
    for statement in body:
        yield from tokens(statement)


class Edition:
    """The shapes of an edition's functions: says which of them a function is like."""

    def __init__(self, files: dict[str, bytes]):
        pieces = [piece for name in files for piece in code(name, files[name])]
        found = [(place, text, one) for place, text in pieces for one in shapes(text) if len(one) > ALIKE * SHORT]
        self.places, self.texts, self.shapes = zip(*found, strict=True)
        self.numbers = {token: number for number, token in enumerate(sorted({t for one in self.shapes for t in one}))}
        self.lengths = np.array(list(map(len, self.shapes)))
        self.counts = np.zeros((len(found), len(self.numbers)), np.int32)
        for row, one in zip(self.counts, self.shapes, strict=True):
            for token, count in Counter(one).items():
                row[self.numbers[token]] = count

    def like(self, asked: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Place and text of the functions like this one. A quick count comes first: ignoring the order of tokens, two
        functions never have less in common."""
        count = {self.numbers[token]: number for token, number in Counter(asked).items() if token in self.numbers}
        common = np.minimum(self.counts[:, list(count)], list(count.values())).sum(axis=1)
        for at in np.flatnonzero(2 * common >= ALIKE * (self.lengths + len(asked))):
            if SequenceMatcher(None, asked, self.shapes[at], autojunk=False).ratio() >= ALIKE:
                yield self.places[at], self.texts[at]


def leaks(files: dict[str, bytes]) -> dict[tuple[str, str], str]:
    """(An answer's file, a place in the edition) -> the text there that's like it, except the exercise's starter."""
    edition, found = Edition(files), {}
    for key, name, text in answers():
        starter = f"exercises/{key.replace('.', '/')}/starter.py"
        for asked in (one for one in shapes(text) if len(one) >= SHORT):
            for place, there in edition.like(asked):
                if place != starter and f'exercise("{key}").check(' not in there:
                    found[name, place] = there
    return found


def known(name: str, place: str) -> tuple[str, str] | None:
    """The entry of KNOWN for these two."""
    return next((one for one in KNOWN if name.startswith(one[0]) and place == one[1]), None)


def test_no_function_in_it_is_nearly_an_answer():
    found = leaks(student_edition.files())
    unknown = [f"{place}, like {name}" for name, place in found if not known(name, place)]
    assert not unknown, "fix it, or say in KNOWN why it may be there"
    assert {known(*one) for one in found} == set(KNOWN), "an entry of KNOWN that is not needed any more"


CELL = {"id": "x", "cell_type": "code"}
DISGUISED = '''
def other(source: str, target: str) -> None:
    """Another name for everything."""
    import os  # and another import

    data = memoryview(bytearray(2**20))
    with open(source, "rb", buffering=0) as one, open(target, "wb") as two:
        while count := one.readinto(data):  # as in the solution
            two.write(data[:count])
'''


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("helpers/show/more.py", DISGUISED),
        ("helpers/show/more.py", "def outer():\n" + DISGUISED.replace("\n", "\n    ")),
        ("exercises/02/chunks/hints.md", f"## Hint 1\n\n```python{DISGUISED}```\n"),
        ("notebooks/02_x.ipynb", json.dumps({"cells": [CELL | {"source": DISGUISED}]})),
        ("notebooks/02_x.ipynb", json.dumps({"cells": [CELL | {"source": f"%time 1\n{DISGUISED}"}]})),
    ],
    ids=["module", "nested", "hint", "cell", "cell with a magic"],
)  # fmt: skip
def test_an_answer_is_found_however_it_is_disguised(name: str, text: str):
    assert "02/chunks/solution.py" in {answer for answer, _ in leaks({name: text.encode()})}


def test_no_file_of_the_teacher_s_is_in_it():
    here = {name for name in student_edition.files() if name.startswith("exercises/")}
    parts = r"quizzes\.toml|quizzes\.py|\w+/(prompt\.md|hints\.md|starter\.py|check\.py)"
    more = {Path(name).name for name in here if not re.fullmatch(rf"exercises/\d\d/({parts})", name)}
    shown = {"recorded.toml", "recorded.json", "loaders.toml", "kinds.toml", "server.py"}
    assert more == shown | {"class-edition.toml"}
    tops = {name.partition("/")[0] for name in student_edition.files()}
    assert not tops & {"teacher", "tests", "benchmarks", "CONTRIBUTING.md", ".ci", "build"}
    assert not [name for name in student_edition.files() if re.match(r"helpers/(classroom|publish)/", name)]


def test_no_note_for_teachers_is_in_it():
    everything = "\n".join(data.decode(errors="replace") for data in student_edition.files().values())
    everything = everything.replace('\\"', '"')  # a notebook escapes quotes
    texts = [path.read_text(encoding="utf-8") for path in TEACHER.glob("*.md")]
    notes = {line for text in texts for line in re.split(r"\n|(?<=[.?!]) ", text) if len(line) > 40}
    assert len(notes) > 100
    assert not [note for note in notes if note in everything]


def could_be_handed_in() -> list:
    """Each exercise, with each function of its check.py that can be called like the one the exercise asks for."""
    pairs = []
    for one in exercises():
        arguments = len(inspect.signature(one.made(one.starter)).parameters)
        for name, function in inspect.getmembers(exercise_files.check(one.folder), inspect.isfunction):
            taken = list(inspect.signature(function).parameters.values())
            needed = [parameter for parameter in taken if parameter.default is parameter.empty]
            is_its_own = function.__code__.co_filename == str(one.folder / "check.py")
            asks = taken and taken[0].name in ("attempt", "function")  # it takes the student's function
            if is_its_own and not asks and len(needed) <= arguments <= len(taken):
                pairs.append(pytest.param(one, name, id=f"{one.key}-{name}"))
    return pairs


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.slow
@pytest.mark.parametrize(("one", "name"), could_be_handed_in())
def test_no_function_of_a_check_is_an_answer(one: Exercise, name: str):
    given = ", ".join(inspect.signature(one.made(one.starter)).parameters)
    text = (one.folder / "check.py").read_text(encoding="utf-8")
    text += f"\n\nof_the_check = {name}\n\n\ndef {one.name}({given}):\n    return of_the_check({given})\n"
    verdict = one.check(source_named([("<check>", text)], one.name), size=min(one.size, 32 * MiB), timeout=4)
    assert verdict.outcome != "right", repr(verdict)
