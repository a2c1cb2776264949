"""Rust twins: the programs of notebooks/rust, compiled and run here, or shown as they ran elsewhere.

from helpers.measure import twin
cow = twin("cow")
cow.figures["size_of"]["Cow<str>"]  # 24
print(cow.part("to_mut"))
"""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from .. import folders
from ..scratch import scratch

RUST = folders.NOTEBOOKS / "rust"
TWINS = ("copy", "cow", "dispatch", "swap", "yoke")  # these run
REFUSED = {"dangling": {"E0505", "E0515"}}  # these must not compile, for exactly these errors
ASK_LIMIT = 15  # seconds for `rustc -vV`: a lesson has 60 in all, and a rustc that takes longer is stuck
TIME_LIMIT = 60  # seconds, for the compiler and for the program
TEXT: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}  # rustc speaks UTF-8

Figures = dict[str, dict[str, int | float | str]]


class NoRust(Exception):
    """No program can be compiled here, and the message says why: no rustc, no linker, or Windows."""


class Compiler(NamedTuple):
    path: str
    version: str  # "rustc 1.95.0 (59807616e 2026-04-14)"
    host: str


@dataclass(frozen=True)
class Program:
    """What Twin and Refusal share: a program, and which compiler and machine gave the answer. `date` is ISO 8601.

    `source` is the program's file, then the files of the modules that it names. `crates`: version by crate, if any.
    """

    name: str
    source: str
    compiler: str
    machine: str
    date: str
    recorded: bool
    crates: dict[str, str] = field(default_factory=dict, kw_only=True)

    here: ClassVar[str] = "Compiled here"

    def part(self, name: str) -> str:
        """The lines from "// part: `name`" to the next such mark, or "// end". ValueError lists the parts."""
        mark, end = r"^ *// part: (.+)\n", r"((?:(?! *// (?:part: |end$)).*\n)*)"
        parts = dict(re.findall(mark + end, self.source, re.M))
        if name not in parts:
            raise ValueError(f"no part {name!r}; there are: {', '.join(parts)}")
        return parts[name].strip("\n") + "\n"

    @property
    def made(self) -> str:
        """Where these figures come from, which every figure has to say."""
        tools = ", ".join((self.compiler, *map(" ".join, self.crates.items())))
        if self.recorded:
            return f"Recorded, not run here: {tools}, {self.machine}, {self.date}"
        return f"{self.here} by {tools}"


@dataclass(frozen=True)
class Twin(Program):
    """A Rust program, and what it printed. `figures`: section -> name -> value; addresses and 8-byte words are "0x…".

    `compilers`: figures by compiler version, for every compiler known: the recorded ones, and this one. An old
    compiler has only some sections. `others`: some sections by other versions of a crate, as "tokio 1.43.1".
    """

    figures: Figures
    compilers: dict[str, Figures]
    others: dict[str, Figures] = field(default_factory=dict, kw_only=True)

    def __repr__(self) -> str:
        rows = [(section, name, str(value)) for section, names in self.figures.items() for name, value in names.items()]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows)
        return "\n".join((*lines, self.made))


@dataclass(frozen=True)
class Refusal(Program):
    """A Rust program that the compiler refuses, and what the compiler said. `codes`: the errors', as "E0515"."""

    codes: tuple[str, ...]
    message: str

    here: ClassVar[str] = "Refused here"

    def __repr__(self) -> str:
        return f"{self.message}\n{self.made}"


def twin(name: str) -> Twin:
    """Compiles notebooks/rust/`name`.rs with `rustc -O --edition 2021`, runs it, and returns what it printed.

    It compiles once for each source and compiler, into `folders.generated()`/rust, and runs at each call. Where nothing
    can be compiled (no rustc, a broken rustc, no linker, no folder to write to, Windows) you get the recorded figures,
    and `recorded` is True. ValueError for an unknown name. RuntimeError, with the compiler's or the program's message,
    if the source is at fault, or the program fails or runs longer than TIME_LIMIT.
    """
    answer = answered(name, TWINS, lambda compiler: {"figures": printed_by(name, compiler)})
    compilers = dict(kept(name).get("compilers", {}))
    for known in filter(None, (kept(name), answer)):
        compilers[_number(known["compiler"])] = known["figures"]
    return Twin(**answer | {"compilers": compilers})


def refusal(name: str) -> Refusal:
    """What the compiler says about notebooks/rust/`name`.rs, which must not compile.

    You get the recorded answer if there is no rustc, or it fails for other errors than the lesson teaches. ValueError
    for an unknown name; RuntimeError if the program compiles.
    """
    answer = answered(name, REFUSED, lambda compiler: _refused(name, compiler))
    return Refusal(**answer | {"codes": tuple(answer["codes"])})


def record(machine: str) -> None:
    """Runs all of them here and keeps what they say in data/recorded/rust, as made on `machine`.

    For other compilers on the PATH it keeps the sizes of cow.rs; compilers recorded before stay. NoRust if nothing can
    be compiled.
    """
    for made in (*map(twin, TWINS), *map(refusal, REFUSED)):
        extra = {}
        if made.name == "cow":
            others = filter(None, map(_asked, _rustcs()))
            sizes = {_number(other.version): {"size_of": printed_by("cow", other)["size_of"]} for other in others}
            extra["compilers"] = kept("cow").get("compilers", {}) | sizes
            extra["compilers"].pop(_number(made.compiler), None)
        keep(made, machine, extra)


def keep(made: Program, machine: str, extra: dict[str, Any]) -> None:
    """Writes the record, with what is `extra`. NoRust if the program was not run here."""
    if made.recorded:
        raise NoRust(f"{made.name}: {made.made}")
    known = ("name", "source", "recorded", "compilers", "crates", "others")
    plain = {name: value for name, value in asdict(made).items() if name not in known}
    path = _record_of(made.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    plain |= {"machine": machine} | extra
    folders.write_whole(path, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")


def printed_by(name: str, compiler: Compiler) -> Figures:
    """What the program prints, parsed. RuntimeError as in `twin`; NoRust or OSError where `twin` takes the record."""
    return run(name, _compiled(name, compiler))


def run(name: str, program: Path) -> Figures:
    """What `program`, made from `name`.rs, prints when it gets an empty folder. RuntimeError as in `twin`."""
    with tempfile.TemporaryDirectory(dir=scratch(name).parent) as folder:
        try:
            done = subprocess.run([program, folder], timeout=TIME_LIMIT, **TEXT)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"{name}.rs took longer than {TIME_LIMIT} s") from error
    if done.returncode:
        raise RuntimeError(f"{name}.rs ended with {done.returncode}:\n{done.stderr.strip()}")
    return figures_in(done.stdout)


def figures_in(text: str) -> Figures:
    """Values by section and name, from lines "section<tab>name<tab>value". ValueError for any other line."""
    figures: Figures = {}
    for line in text.splitlines():
        if line.count("\t") != 2:
            raise ValueError(f"{line!r} is not a figure; a program prints section, name and value, separated by tabs")
        section, name, value = line.split("\t")
        figures.setdefault(section, {})[name] = _value(value)
    return figures


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def answered(name: str, names: tuple | dict, ask: Callable[[Compiler], dict[str, Any]]) -> dict[str, Any]:
    """What `ask` says about the program, and whose answer that is; the record where nothing can be compiled."""
    if name not in names:
        raise ValueError(f"there is no Rust program {name!r}; there are: {', '.join(names)}")
    program = {"name": name, "source": _source(name)}
    try:
        found = compiler()
        answer = ask(found)
    except (NoRust, OSError) as why:  # OSError: nothing can be written or run here
        if not (told := kept(name)):
            raise RuntimeError(f"{name}.rs can't be run here ({why}), and no run of it is recorded") from why
        return program | told | {"recorded": True}
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    whose = {"compiler": found.version, "machine": machine, "date": date.today().isoformat(), "recorded": False}
    return program | answer | whose


def _compiled(name: str, compiler: Compiler) -> Path:
    """The program. If it isn't there, it's compiled elsewhere and moved, so it's there whole or not at all."""
    key = sha256(f"{compiler.version}\0{compiler.host}\0{_source(name)}".encode()).hexdigest()[:16]
    program = folders.generated() / "rust" / f"{name}-{key}"
    if not program.exists():
        program.parent.mkdir(exist_ok=True)
        made = scratch(program.name)
        said = _rustc(compiler, name, "-O", "-o", str(made))
        if _at_fault(name, said.stderr):
            raise RuntimeError(f"{name}.rs does not compile with {compiler.version}:\n{said.stderr.strip()}")
        if said.returncode or not made.exists():
            raise NoRust(f"{compiler.path} ended with {said.returncode} and no program: {said.stderr.strip()}")
        os.replace(made, program)
    return program


def _refused(name: str, compiler: Compiler) -> dict[str, Any]:
    """The errors' codes and the message. NoRust if they aren't the codes in REFUSED: they wouldn't teach the lesson."""
    made = scratch(f"{name}.rmeta")
    made.unlink(missing_ok=True)
    said = _rustc(compiler, name, "--emit=metadata", "-o", str(made))
    if said.returncode == 0 and made.exists():
        raise RuntimeError(f"{name}.rs compiles with {compiler.version}, but it should be refused")
    codes = codes_in(said.stderr)
    if set(codes) != REFUSED[name]:
        wanted = ", ".join(sorted(REFUSED[name]))
        raise NoRust(f"{compiler.path} ended with {said.returncode}, but not for {wanted}: {said.stderr.strip()}")
    return {"codes": codes, "message": said.stderr.strip()}


def codes_in(said: str) -> tuple[str, ...]:
    """The errors' numbers, as "E0515", each once."""
    return tuple(dict.fromkeys(re.findall(r"^error\[(E\d+)\]", said, re.M)))


def _at_fault(name: str, said: str) -> bool:
    """Does the compiler complain about the source? Then it names a place there: "error…", "--> name.rs:3:5".

    False if it misses its own library (E0463), which older compilers report at each use, and if it crashes.
    """
    files = "|".join((name, *_modules(_source(name))))
    place = rf"^error(\[E\d+\])?: (?!internal compiler error).*\n +--> ({files})\.rs:"
    return "error[E0463]" not in said and bool(re.search(place, said, re.M))


def _rustc(compiler: Compiler, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs in the folder of the sources, so that messages name just the file, not where it is on this machine."""
    command = [compiler.path, "--edition", "2021", "--color", "never", *options, f"{name}.rs"]
    try:
        return subprocess.run(command, cwd=RUST, timeout=TIME_LIMIT, **TEXT)
    except subprocess.TimeoutExpired as error:
        raise NoRust(f"{compiler.path} doesn't end: {error}") from error


def compiler() -> Compiler:
    """The first rustc on the PATH that runs. NoRust if there is none."""
    if os.name != "posix":
        raise NoRust("the programs use mmap(2), which this system does not have")
    for found in filter(None, map(_asked, _rustcs())):
        return found
    raise NoRust("no rustc on the PATH runs")


def _rustcs() -> list[str]:
    found = (shutil.which("rustc", path=folder) for folder in os.get_exec_path())
    return [os.path.abspath(path) for path in found if path]


@cache
def _asked(path: str) -> Compiler | None:
    try:
        said = subprocess.run([path, "-vV"], timeout=ASK_LIMIT, **TEXT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    host = re.search(r"^host: (.+)$", said.stdout, re.M)
    return Compiler(path, said.stdout.splitlines()[0], host[1]) if said.returncode == 0 and host else None


def _source(name: str) -> str:
    text = (RUST / f"{name}.rs").read_text(encoding="utf-8")
    return "\n".join((text, *map(_source, _modules(text))))


def _modules(source: str) -> list[str]:
    return re.findall(r"^mod (\w+);", source, re.M)


def kept(name: str) -> dict[str, Any]:
    """What `record` kept; {} if it never ran."""
    path = _record_of(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _record_of(name: str) -> Path:
    return folders.RECORDED / "rust" / f"{name}.json"


def _number(compiler: str) -> str:
    """ "1.95.0" from "rustc 1.95.0 (59807616e 2026-04-14)"."""
    return compiler.split()[1]
