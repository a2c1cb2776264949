"""The Rust counterparts of the lessons: programs of notebooks/rust, and what they printed where
`make record` ran them.

twin("cow").figures["size_of"]["Cow<str>"]  # 24
"""

import json
import re
from dataclasses import dataclass, field

from .. import folders

RUST = folders.NOTEBOOKS / "rust"

Figures = dict[str, dict[str, int | float | str]]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, and which compiler and machine gave the answer. `date` is ISO 8601. `crates`:
    version by crate.

    `source` is the program's file, then the module that counts the heap, if it uses it.
    """

    name: str
    source: str
    compiler: str
    machine: str
    date: str
    crates: dict[str, str] = field(default_factory=dict)

    def part(self, name: str) -> str:
        """The lines from "// part: `name`" to the next such mark, or "// end". ValueError lists the
        parts.
        """
        mark, end = r"^ *// part: (.+)\n", r"((?:(?! *// (?:part: |end$)).*\n)*)"
        parts = dict(re.findall(mark + end, self.source, re.M))
        if name not in parts:
            raise ValueError(f"no part {name!r}; there are: {', '.join(parts)}")
        return parts[name].strip("\n") + "\n"

    @property
    def made(self) -> str:
        tools = ", ".join((self.compiler, *map(" ".join, self.crates.items())))
        return f"Recorded, not run here: {tools}, {self.machine}, {self.date}"


@dataclass(frozen=True, kw_only=True)
class Twin(Program):
    """A Rust program, and what it printed. `figures`: section -> name -> value; addresses and
    8-byte words are "0x…".

    `compilers`: figures by compiler version; an old compiler has only some sections. `others`: some
    sections by other versions of a crate, as "tokio 1.43.1".
    """

    figures: Figures
    compilers: dict[str, Figures] = field(default_factory=dict)
    others: dict[str, Figures] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows = [
            (section, name, str(value))
            for section, names in self.figures.items()
            for name, value in names.items()
        ]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows)
        return "\n".join((*lines, self.made))


@dataclass(frozen=True, kw_only=True)
class Refusal(Program):
    """A Rust program that the compiler refuses, and what the compiler said. `codes`: the errors',
    as "E0515".
    """

    codes: tuple[str, ...]
    message: str

    def __repr__(self) -> str:
        return f"{self.message}\n{self.made}"


def twin(name: str, folder: str = "") -> Twin:
    """notebooks/rust/`name`.rs, and what it printed. ValueError for an unknown name."""
    record = _recorded(folder, name, "figures")
    newest = {record["compiler"].split()[1]: record["figures"]}
    return Twin(**record | {"compilers": record.get("compilers", {}) | newest})


def refusal(name: str, folder: str = "") -> Refusal:
    """notebooks/rust/`name`.rs, and why it doesn't compile. ValueError for an unknown name."""
    return Refusal(**_recorded(folder, name, "message"))


def crate(name: str) -> Twin:
    """As `twin`, for a program in notebooks/rust/crates, which needs crates."""
    return twin(name, "crates/")


def crate_refusal(name: str) -> Refusal:
    return refusal(name, "crates/")


def _recorded(folder: str, name: str, holds: str) -> dict:
    files = sorted((folders.RECORDED / "rust" / folder).glob("*.json"))
    records = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    names = [stem for stem, record in records.items() if holds in record]
    if name not in names:
        raise ValueError(f"there is no Rust program {name!r}; there are: {', '.join(names)}")
    source = (RUST / folder / f"{name}.rs").read_text(encoding="utf-8")
    if "counting::" in source:
        source += "\n" + (RUST / "counting.rs").read_text(encoding="utf-8")
    return {"name": folder + name, "source": source} | records[name]
