"""Reads exercises/: one folder per exercise, with its texts, its starter, its check and its answers as files.

exercises/README.md describes the form. A file that breaks it raises Malformed, which names the file, the line and what
would be right. Nothing is executed here but check.py and quizzes.py, when they are asked for.
"""

import ast
import re
import sys
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from symtable import symtable
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import cloudpickle
import yaml

from .. import folders, units
from ..edition import CLASS_EDITION

FILES = ("prompt.md", "hints.md", "starter.py", "check.py", "solution.py")
ANSWERS = ("right", "wrong")
FRONT = {"title": (str, "a text"), "minutes": (int, "a whole number"), "size": (str, "a size such as 256 MiB")}
CAUSE = "[a-z]+(?:-[a-z]+)*"
EXPECT = re.compile(rf"# expect: ({CAUSE})(, half)?")
HINT = re.compile(rf"Hint ([12])(?:: ({CAUSE}(?:, {CAUSE})*))?")
ON = re.compile(r"# on: (linux|darwin|win32)")


class Malformed(ValueError):
    """A file of exercises/ is not in the form that exercises/README.md describes."""


class Hint(NamedTuple):
    """A hint, in Markdown, and the judge's causes that it fits."""

    text: str
    causes: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """A right or wrong answer: its source; the judge's cause, if wrong, and whether half of it is right all the same;
    the only system it applies to, or ""."""

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
        return re.sub(r"\A(# (expect|on): .*\n)+", "", self.source)

    @property
    def can_be_given(self) -> bool:
        """Can it be given on this system?"""
        return self.on in ("", sys.platform)


def keys() -> list[str]:
    """Every exercise by its key, "02.chunks", in the order of the lessons."""
    found = sorted(folder for folder in folders.EXERCISES.glob("[0-9][0-9]/*/") if folder.name[:1] not in "._")
    return [f"{folder.parent.name}.{folder.name}" for folder in found]


def front_matter(folder: Path) -> tuple[dict[str, Any], str]:
    """Title, minutes and size (bytes) of an exercise, and its prompt, in Markdown."""
    path = _there(folder, "prompt.md")
    text = _text(path)
    found = re.match(r"---\n(.*?\n)---\n(.*)", text, re.S)
    if not found:
        _refuse(path, 1, "begin with a line '---', then title, minutes and size, one per line, then '---'")
    try:
        front = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        _refuse(path, mark.line + 2 if mark else 2, f"not YAML: {getattr(error, 'problem', error)}")
    if not isinstance(front, dict):
        _refuse(path, 2, "write 'title: …', 'minutes: 10' and 'size: 256 MiB', one per line")
    if unknown := set(front) - set(FRONT):
        name = sorted(map(str, unknown))[0]
        _refuse(path, _line(found[1], name, 1), f"unknown {name!r}; there are: {', '.join(FRONT)}")
    for name, (kind, wanted) in FRONT.items():
        if not isinstance(front.get(name), kind):
            _refuse(path, _line(found[1], name, 1), f"{name} is {front.get(name)!r}; it should be {wanted}")
    try:
        front["size"] = units.size(front["size"])
    except ValueError as error:
        _refuse(path, _line(found[1], "size", 1), str(error))
    if not found[2].strip():
        _refuse(path, text.count("\n"), "the prompt is empty; say what to write")
    return front, found[2].strip()


def hints(folder: Path) -> tuple[Hint, Hint]:
    """The two hints of an exercise."""
    path = _there(folder, "hints.md")
    text = _text(path)
    before, *parts = re.split(r"(?m)^## (.*)\n", text)
    found = [HINT.fullmatch(heading) for heading in parts[::2]]
    fit = [bool(heading) and heading[1] == str(number) for number, heading in enumerate(found, 1)]
    if before.strip() or fit != [True, True] or not all(part.strip() for part in parts[1::2]):
        at = _line(text, f"## {parts[2 * fit.index(False)]}") if False in fit[:2] else max(1, text.count("\n"))
        _refuse(path, at, "write two hints, under the headings '## Hint 1' and '## Hint 2', and nothing before. Causes "
                "that a hint fits may follow: '## Hint 1: too-short, too-long'")  # fmt: skip
    causes = (tuple(re.findall(CAUSE, heading[2] or "")) for heading in found)
    return tuple(Hint(part.strip(), fits) for part, fits in zip(parts[1::2], causes, strict=True))


def starter(folder: Path) -> str:
    """What the notebook's cell holds at first. The exercise asks for its last function."""
    return source(_there(folder, "starter.py"))


def asked_for(starter: str) -> str:
    """The name of the function that a starter asks for."""
    return [node.name for node in ast.parse(starter).body if isinstance(node, ast.FunctionDef)][-1]


def solution(folder: Path, name: str) -> str | None:
    """The solution, which defines `name`; None in a class edition, where only the teacher has it."""
    if not (folder / "solution.py").exists() and is_class_edition(folder):
        return None
    return source(_there(folder, "solution.py"), name)


def answers(folder: Path, kind: str, name: str) -> list[Answer]:
    """The `right` or the `wrong` answers, which define `name`, in the order of their file names."""
    if not (folder / kind).is_dir():
        if is_class_edition(folder):
            return []
        _refuse(folder, 0, f"there is no folder {kind}/; it holds two or more {kind} answers, each a .py file")
    return [_answer(path, kind, name) for path in sorted((folder / kind).glob("*.py"))]


def check(folder: Path) -> ModuleType:
    """check.py as a module that travels by value: it holds what runs in the student's process, and what judges that."""
    path = _there(folder, "check.py")
    source(path, "judge")
    return _module(path, f"check_{folder.parent.name}_{folder.name}")


def quizzes(lesson: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each quiz of a lesson, and its entry in quizzes.toml."""
    path = lesson / "quizzes.toml"
    if not path.exists():
        return
    text = _text(path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        _refuse(path, int(line[1]) if line else 0, f"not TOML: {error}")
    for name, entry in found.items():
        if why := _quiz_fault(entry, name):
            _refuse(path, _line(text, f"[{name}]"), f"[{name}] {why}")
        if "measured_by" in entry:
            source(_there(lesson, "quizzes.py"), entry["measured_by"])
        yield name, entry


def _quiz_fault(entry: Any, name: str) -> str | None:
    """What is wrong with a quiz's entry in quizzes.toml, and what would be right; None if nothing is."""
    wanted = f"wanted: question, measured_by (the name of a function in quizzes.py, or nothing), [[{name}.choices]]"
    if not isinstance(entry, dict) or not {"question", "choices"} <= set(entry) <= {
        "question",
        "choices",
        "measured_by",
    }:
        return f"has {', '.join(entry) if isinstance(entry, dict) else repr(entry)}; {wanted}"
    if not isinstance(entry["choices"], list) or not all(isinstance(choice, dict) for choice in entry["choices"]):
        return f"has choices in another form; {wanted}"
    for choice in entry["choices"]:
        if not {"text", "feedback"} <= set(choice) <= {"text", "feedback", "right"}:
            return f"has a choice with {', '.join(choice)}; wanted: text, feedback, and in one choice right = true"
    texts = [entry["question"], *(choice[part] for choice in entry["choices"] for part in ("text", "feedback"))]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return "needs text for its question, and for the text and the feedback of each choice"
    rights = sum(choice.get("right") is True for choice in entry["choices"])
    return None if rights == 1 else f"has {rights} choices with 'right = true'; exactly one should have it"


def measured_by(lesson: Path, name: str) -> int | None:
    """The number of the right choice, as this function in a lesson's quizzes.py finds it; None if it can't measure."""
    return getattr(_module(lesson / "quizzes.py", f"quizzes_{lesson.name}"), name)()


def is_class_edition(folder: Path) -> bool:
    """Does `folder`, of an exercise, belong to an edition for a class?"""
    return (folder.parent.parent / CLASS_EDITION.name).exists()


def source(path: Path, name: str | None = None) -> str:
    """The text of a Python file that defines `name`; if that is None, any function."""
    text = _text(path)
    try:
        table = symtable(text, str(path), "exec")
    except SyntaxError as error:
        _refuse(path, error.lineno or 1, f"not Python: {error.msg}")
    defined = [symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()]
    if name is None and not any(inside.get_type() == "function" for inside in table.get_children()):
        _refuse(path, 1, "it defines no function; the exercise asks for the last function it defines")
    if name is not None and name not in defined:
        near = get_close_matches(name, defined, n=1)
        _refuse(path, 1, f"it doesn't define {name!r}{f' (but {near[0]!r})' if near else ''}")
    return text


def _there(folder: Path, name: str) -> Path:
    """The file of that name. Raises Malformed if it's missing, and names a file with nearly the same name."""
    if not (folder / name).is_file():
        like = folder.glob(f"*{Path(name).suffix}") if folder.is_dir() else ()
        near = get_close_matches(name, [path.name for path in like if path.name not in FILES], n=1)
        _refuse(folder, 0, f"{name} is missing{f'; is it {near[0]!r}?' if near else ''}")
    return folder / name


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        _refuse(path, path.read_bytes()[: error.start].count(b"\n") + 1, f"not UTF-8: {error.reason}")


def _answer(path: Path, kind: str, name: str) -> Answer:
    text = source(path, name)
    lines = text.splitlines()
    expect = EXPECT.fullmatch(lines[0]) if kind == "wrong" else None
    if kind == "wrong" and not expect:
        _refuse(path, 1, f"begin with '# expect: ' and the judge's cause, such as too-much-memory, not {lines[0]!r}")
    on = next(filter(None, map(ON.fullmatch, lines[:2])), None)
    return Answer(path, text, expect[1] if expect else "", bool(expect and expect[2]), on[1] if on else "")


def _module(path: Path, name: str) -> ModuleType:
    """The file as a module, which cloudpickle carries by value. Loads it again if the file has changed."""
    stamp = path.stat().st_mtime_ns
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path) and known.__stamp__ == stamp:
        return known
    module = ModuleType(name)
    module.__file__, module.__stamp__ = str(path), stamp
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
        _refuse(path, line, f"{type(error).__name__}: {error}")
    cloudpickle.register_pickle_by_value(module)
    return module


def place(error: BaseException, folder: Path) -> str:
    """Where in a file of this folder an error was raised: " (exercises/02/chunks/check.py, line 12)"; "" if nowhere."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    return f" ({_shown(Path(frames[-1].filename))}, line {frames[-1].lineno})" if frames else ""


def _line(text: str, start: str, before: int = 0) -> int:
    """The line of `text` that begins with `start`, counted from 1 after `before` others; `before` + 1 if none does."""
    lines = text.splitlines()
    return before + next((i for i, line in enumerate(lines, 1) if line.startswith(start)), 1)


def _refuse(path: Path, line: int, what: str) -> NoReturn:
    raise Malformed(f"{_shown(path)}{f', line {line}' if line else ''}: {what}")


def _shown(path: Path) -> Path:
    return path.relative_to(folders.ROOT) if path.is_relative_to(folders.ROOT) else path
