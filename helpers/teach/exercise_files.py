"""Reads exercises/: one folder per exercise, with its texts, its starter, its check and its answers
as files. exercises/README.md describes the form. A file that breaks it raises Malformed, which
names the file, the line and what would be right. Nothing is executed here but check.py and
quizzes.py, when they are asked for.
"""

import ast
import re
import sys
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from symtable import SymbolTable, symtable
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import cloudpickle

from .. import folders, units
from ..edition import CLASS_EDITION

FRONT = {"title": str, "minutes": int, "size": units.size}
WANTED = "'title: …', 'minutes: 10' and 'size: 256 MiB'"
CAUSE = "[a-z]+(?:-[a-z]+)*"
HEAD = re.compile(rf"\A(?:# expect: ({CAUSE})(, half)?\n)?(?:# on: (linux|darwin|win32)\n)?")
HINT = re.compile(rf"Hint ([12])(?:: ({CAUSE}(?:, {CAUSE})*))?")
CHECKS = re.compile(r"""exercise\(\s*["']([^"']+)["']\s*\)\s*\.check\(""")


class Malformed(ValueError):
    """A file of exercises/ is not in the form that exercises/README.md describes."""


class Hint(NamedTuple):
    """A hint, in Markdown, and the judge's causes that it fits."""

    text: str
    causes: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """A right or wrong answer. `expect`: the judge's cause, if wrong; `on`: the only system it
    applies to, or "".
    """

    path: Path
    source: str
    expect: str = ""
    half: bool = False
    on: str = ""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def body(self) -> str:
        """The source without the lines for the tests."""
        return HEAD.sub("", self.source)

    @property
    def can_be_given(self) -> bool:
        """On this system?"""
        return self.on in ("", sys.platform)


def keys() -> list[str]:
    """Every exercise by its key, "02.chunks", in the order of the lessons."""
    found = sorted(
        folder for folder in folders.EXERCISES.glob("[0-9][0-9]/*/") if folder.name[:1] not in "._"
    )
    return [f"{folder.parent.name}.{folder.name}" for folder in found]


def checked_in(cell: str) -> list[str]:
    """The keys of the exercises that a notebook's cell checks, as in
    `exercise("02.chunks").check(copy_small)`.
    """
    return CHECKS.findall(cell)


def front_matter(folder: Path) -> tuple[dict[str, Any], str]:
    """Title, minutes and size (bytes) of an exercise, and its prompt, in Markdown."""
    path = folder / "prompt.md"
    parts = re.fullmatch(r"(?s)---\n(.*?\n)---\n(.*)", read_text(path))
    if not parts:
        refuse(
            path,
            1,
            "begin with a line '---', then title, minutes and size, one per line, then '---'",
        )
    front = {}
    for number, line in enumerate(parts[1].splitlines(), 2):
        name, _, value = line.partition(":")
        try:
            front[name] = FRONT[name](value.strip())
        except (KeyError, ValueError):
            refuse(path, number, f"{line!r} is none of {WANTED}")
    if len(front) < len(FRONT) or not parts[2].strip():
        refuse(path, 1, f"wanted: {WANTED}, each on its line; and after '---', what to write")
    return front, parts[2].strip()


def hints(folder: Path) -> tuple[Hint, Hint]:
    path = folder / "hints.md"
    before, *parts = re.split(r"(?m)^## (.*)\n", read_text(path))
    headings = [HINT.fullmatch(heading) for heading in parts[::2]]
    numbers = [heading and heading[1] for heading in headings]
    if before.strip() or numbers != ["1", "2"] or not all(part.strip() for part in parts):
        refuse(
            path,
            0,
            "write two hints, under the headings '## Hint 1' and '## Hint 2', and nothing before. "
            "Causes that a hint fits may follow: '## Hint 1: too-short, too-long'",
        )
    causes = (tuple(re.findall(CAUSE, heading[2] or "")) for heading in headings)
    return tuple(Hint(part.strip(), fits) for part, fits in zip(parts[1::2], causes, strict=True))


def asked_for(starter: str) -> str:
    """The name of the function that a starter asks for: its last."""
    return [node.name for node in ast.parse(starter).body if isinstance(node, ast.FunctionDef)][-1]


def solution(folder: Path, name: str) -> str | None:
    """The solution, which defines `name`; None in a class edition, where only the teacher has
    it.
    """
    if not (folder / "solution.py").exists() and is_class_edition(folder):
        return None
    return source(folder / "solution.py", name)


def answers(folder: Path, kind: str, name: str) -> list[Answer]:
    """The `right` or the `wrong` answers, which define `name`, in the order of their file names."""
    if not (folder / kind).is_dir():
        if is_class_edition(folder):
            return []
        refuse(
            folder,
            0,
            f"there is no folder {kind}/; it holds two or more {kind} answers, each a .py file",
        )
    answers = []
    for path in sorted((folder / kind).glob("*.py")):
        text = source(path, name)
        expect, half, on = HEAD.match(text).groups("")
        if kind == "wrong" and not expect:
            first = text.partition("\n")[0]
            refuse(
                path,
                1,
                "begin with '# expect: ' and the judge's cause, such as too-much-memory, not "
                f"{first!r}",
            )
        answers.append(Answer(path, text, expect, bool(half), on))
    return answers


def check(folder: Path) -> ModuleType:
    """check.py as a module that travels by value: it holds what runs in the student's process, and
    what judges that.
    """
    path = folder / "check.py"
    source(path, "judge")
    return _module(path, f"check_{folder.parent.name}_{folder.name}")


def quizzes(lesson: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each quiz of a lesson, and its entry in quizzes.toml."""
    path = lesson / "quizzes.toml"
    if not path.exists():
        return
    try:
        entries = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        refuse(path, 0, f"not TOML: {error}")
    for name, entry in entries.items():
        if fault := _quiz_fault(entry, name):
            refuse(path, 0, f"[{name}] {fault}")
        if "measured_by" in entry:
            source(lesson / "quizzes.py", entry["measured_by"])
        yield name, entry


def _quiz_fault(entry: Any, name: str) -> str | None:
    """What is wrong with a quiz's entry in quizzes.toml, and what would be right; None if nothing
    is.
    """
    parts = set(entry) if isinstance(entry, dict) else set()
    choices = entry["choices"] if "choices" in parts else None
    if not (
        isinstance(choices, list)
        and {"question", "choices"} <= parts <= {"question", "choices", "measured_by"}
    ):
        return (
            "isn't question, measured_by (the name of a function in quizzes.py, or nothing),"
            f" [[{name}.choices]]"
        )
    for choice in choices:
        if not (
            isinstance(choice, dict)
            and {"text", "feedback"} <= set(choice) <= {"text", "feedback", "right"}
        ):
            return (
                "has a choice in another form; wanted: text, feedback, and in one choice right = "
                "true"
            )
    texts = [
        entry["question"],
        *(choice[part] for choice in choices for part in ("text", "feedback")),
    ]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return "needs text for its question, and for the text and the feedback of each choice"
    rights = sum(choice.get("right") is True for choice in choices)
    return (
        None
        if rights == 1
        else f"has {rights} choices with 'right = true'; exactly one should have it"
    )


def measured_by(lesson: Path, name: str) -> int | None:
    """The number of the right choice, as this function in a lesson's quizzes.py finds it; None if
    it can't measure.
    """
    return getattr(_module(lesson / "quizzes.py", f"quizzes_{lesson.name}"), name)()


def is_class_edition(folder: Path) -> bool:
    """Does `folder`, of an exercise, belong to an edition for a class?"""
    return (folder.parent.parent / CLASS_EDITION.name).exists()


def source(path: Path, name: str | None = None) -> str:
    """The text of a Python file that defines `name`; if that is None, any function."""
    text, table = python(path)
    defined = [
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    ]
    if name is None and not any(inside.get_type() == "function" for inside in table.get_children()):
        refuse(
            path, 1, "it defines no function; the exercise asks for the last function it defines"
        )
    if name is not None and name not in defined:
        refuse(path, 1, f"it doesn't define {name!r}")
    return text


def python(path: Path) -> tuple[str, SymbolTable]:
    """The text of a Python file, and its names."""
    text = read_text(path)
    try:
        return text, symtable(text, str(path), "exec")
    except SyntaxError as error:
        refuse(path, error.lineno or 1, f"not Python: {error.msg}")


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        refuse(path.parent, 0, f"{path.name} is missing")
    except UnicodeDecodeError as error:
        refuse(
            path, path.read_bytes()[: error.start].count(b"\n") + 1, f"not UTF-8: {error.reason}"
        )


def _module(path: Path, name: str) -> ModuleType:
    """The file as a module, which cloudpickle carries by value. Loads it again if the file has
    changed.
    """
    stamp = path.stat().st_mtime_ns
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path) and loaded.__stamp__ == stamp:
        return loaded
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__stamp__ = stamp
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
        refuse(path, line, f"{type(error).__name__}: {error}")
    cloudpickle.register_pickle_by_value(module)
    return module


def place(error: BaseException, folder: Path) -> str:
    """Where in a file of this folder an error was raised: " (exercises/02/chunks/check.py, line
    12)"; "" if nowhere.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent == folder
    ]
    return f" ({_shown(Path(frames[-1].filename))}, line {frames[-1].lineno})" if frames else ""


def refuse(path: Path, line: int, what: str) -> NoReturn:
    raise Malformed(f"{_shown(path)}{f', line {line}' if line else ''}: {what}")


def _shown(path: Path) -> Path:
    return path.relative_to(folders.ROOT) if path.is_relative_to(folders.ROOT) else path
