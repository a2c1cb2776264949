"""Reads cases/: a folder for each case, with its text, broken.py and cured.py. cases/form.md
describes the form.

A file that breaks it raises Malformed, which names the file, the line and what would be right.
"""

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any

from ..folders import ROOT
from ..teach.exercise_files import python, read_text, refuse

CASES = ROOT / "cases"
SECTIONS = ("Symptom", "Look", "Cause", "Cure", "Not this")
MOST_LINES = 25
# the types of the keys that every case has
NEEDED: dict[str, type] = {"title": str, "see": list, "reports": dict}
LISTS = ("says", "words", "libraries", "systems", "lessons", "asserts")
FRONT = NEEDED | dict.fromkeys(LISTS, list) | {"looks": dict, "timeout": int, "not_run": str}
SYSTEMS = ("linux", "macos", "windows")


@dataclass(frozen=True, eq=False)
class Case:
    """One case. `sections`: Markdown by its heading. `asserts`: expressions that hold for the two
    programs, and don't with the two exchanged. `reports`: what each address is cited for.
    `not_run`: why it has no programs; "" if it has. `looks`: `text`, a pattern of the code that it
    comes from, and `costs`, what this code then costs; hints.py.
    """

    folder: Path
    title: str
    see: list[str]
    reports: Mapping[str, str]
    sections: Mapping[str, str]
    says: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=lambda: list(SYSTEMS))
    lessons: list[str] = field(default_factory=list)
    asserts: list[str] = field(default_factory=list)
    timeout: int = 20
    not_run: str = ""
    looks: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def neighbours(self) -> list[str]:
        """The cases that it names as its look-alikes."""
        return re.findall(r"\]\(#([\w-]+)\)", self.sections["Not this"])

    @property
    def change(self) -> str:
        """broken.py, with what cured.py does otherwise, as a difference."""
        broken, cured = (
            path.read_text(encoding="utf-8").splitlines() for path in self.programs.values()
        )
        return "\n".join(list(unified_diff(broken, cured, n=MOST_LINES, lineterm=""))[3:])

    @property
    def programs(self) -> dict[str, Path]:
        return (
            {}
            if self.not_run
            else {kind: self.folder / f"{kind}.py" for kind in ("broken", "cured")}
        )


@cache
def families(folder: Path = CASES) -> dict[str, dict[str, Any]]:
    """What one sees, in the order of the book: for each, `ask`: what to find out first, and its
    answers. An answer is a list of names, or has an `ask` and answers of its own.
    """
    return tomllib.loads(read_text(folder / "families.toml"))


def leaves(asked: Mapping[str, Any]) -> list[list[str]]:
    """The lists of names to which a question's answers lead."""
    found = []
    for answer in asked.values():
        if isinstance(answer, list):
            found.append(answer)
        elif isinstance(answer, dict):
            found += leaves(answer)
    return found


def folders(folder: Path = CASES) -> list[Path]:
    """The folder of every case; its name is the case's."""
    return sorted(path.parent for path in folder.glob("*/case.md"))


@cache
def book() -> list[Case]:
    """Every case, read once: each `%measure` asks for them."""
    return [*map(read, folders())]


def read(folder: Path) -> Case:
    """The case in this folder."""
    path = folder / "case.md"
    parts = re.fullmatch(r"(?s)\+\+\+\n(.*?\n)\+\+\+\n(.*)", read_text(path))
    if not parts:
        refuse(
            path,
            1,
            "begin with a line '+++', then TOML as cases/form.md has it, then a line '+++'",
        )
    try:
        front = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        refuse(path, int(at[1]) + 1 if at else 1, f"not TOML: {error}")
    first = parts[1].count("\n") + 3
    before, *texts = re.split(r"(?m)^## (.*)\n", parts[2])
    if before.strip() or tuple(texts[::2]) != SECTIONS or not all(text.strip() for text in texts):
        refuse(
            path,
            first,
            "write under these headings, in this order: "
            f"{', '.join(f'## {name}' for name in SECTIONS)}",
        )
    sections = {name: text.strip() for name, text in zip(texts[::2], texts[1::2], strict=True)}
    if fault := _fault(front, families(folder.parent)):
        key, what = fault
        line = next(
            (
                n
                for n, text in enumerate(parts[1].splitlines(), 2)
                if re.match(rf"\[?{key}\b", text)
            ),
            1,
        )
        refuse(path, line, f"{key}: {what}")
    case = Case(folder, sections=sections, **front)
    for program in case.programs.values():
        _check(program)
    for name in case.neighbours:
        if not (folder.parent / name / "case.md").exists():
            refuse(path, first, f"Not this: there is no case {name!r}")
    return case


def _fault(front: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[str, str] | None:
    """A key of a case's front matter, and what would be right for it; None if all are."""
    for key, value in front.items():
        if key not in FRONT:
            return key, f"no such key; there are: {', '.join(FRONT)}"
        if not isinstance(value, FRONT[key]) or not value:
            return key, f"wanted: a {FRONT[key].__name__} that isn't empty, not {value!r}"
        if isinstance(value, list) and not all(isinstance(text, str) for text in value):
            return key, f"wanted: a list of strings, not {value!r}"
    if missing := next((key for key in NEEDED if key not in front), None):
        return missing, "it is missing"
    if unknown := set(front["see"]) - known.keys():
        return "see", f"{min(unknown)!r} is no family of families.toml: {', '.join(known)}"
    if set(front.get("systems", ())) - set(SYSTEMS):
        return "systems", f"wanted: some of {', '.join(SYSTEMS)}"
    if ("asserts" in front) == ("not_run" in front):
        return (
            "asserts",
            (
                "wanted: expressions about broken and cured; or not_run, which says why there are "
                "no programs"
            ),
        )
    looks = front.get("looks", {"text": "", "costs": "0"})
    if looks.keys() != {"text", "costs"}:
        return "looks", f"wanted: text and costs, not {', '.join(looks)}"
    try:
        re.compile(looks["text"])
    except re.error as error:
        return "looks", f"{looks['text']!r} is no pattern: {error}"
    for key, texts in {"asserts": front.get("asserts", ()), "looks": [looks["costs"]]}.items():
        for text in texts:
            try:
                ast.parse(text, mode="eval")
            except SyntaxError as error:
                return key, f"{text!r} is no expression: {error.msg}"
    return None


def _check(program: Path) -> None:
    text, _ = python(program)
    if (lines := len(text.splitlines())) > MOST_LINES:
        refuse(program, MOST_LINES + 1, f"{lines} lines; at most {MOST_LINES}")
