"""`make record` runs the Rust programs and the lessons, and keeps what they measured as the
recorded runs, with a picture of one for the README. Run it on a quiet machine that has every meter,
and cargo. Cargo takes the crates from where it usually does; $CARGO_HOME/config.toml may name
another place. Look at the pictures before you commit.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..casebook.files import folders, read
from ..casebook.run import measured
from ..folders import RECORDED, generated, lessons, scratch_folder, write_whole
from ..measure import Comparison, here
from ..measure.twins import RUST, Figures
from ..show import curves
from .execute import executed

FOLDERS = ("", "crates")  # the second needs Tokio, memmap2 and yoke
LIMIT = 600  # seconds, for cargo and for a program
TEXT: dict[str, Any] = {
    "capture_output": True,
    "encoding": "utf-8",
    "errors": "replace",
    "timeout": LIMIT,
}


class NotBuilt(Exception):
    """What cargo said, or that there is none."""


def record() -> None:
    machine = here(generated())
    named = f"{machine.system}, {machine.cores} × {machine.cpu}, {machine.file_system}"
    try:
        record_programs(named)
    except NotBuilt as why:
        print(f"The other Rust programs stay as they were recorded: {why}")
    os.environ["ZERO_COPY_RECORD"] = "1"
    for lesson in lessons():
        executed(lesson, again=True)
    for case in map(read, folders()):
        if not case.not_run:
            measured(case)
    three = json.loads((RECORDED / "02-three.json").read_text(encoding="utf-8"))
    curves(Comparison.from_json(three)).save(RECORDED / "02-three.png")
    print(f"Recorded in {RECORDED}:", *sorted(path.name for path in RECORDED.iterdir()))


def record_programs(machine: str) -> None:
    """Keeps what each Rust program says, as made on `machine`; figures of other compilers and
    crates stay as they were. NotBuilt where one isn't built, or isn't refused as it should be: then
    nothing is kept of its folder.
    """
    for folder in FOLDERS:
        with scratch_folder("rust") as work:
            programs = dict(answers(built(folder, work)))
        for name, answer in programs.items():
            path = RECORDED / "rust" / folder / f"{name}.json"
            old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            others = {key: old[key] for key in ("compilers", "others") if key in old}
            answer |= {"machine": machine, "date": date.today().isoformat()} | others
            write_whole(path, json.dumps(answer, indent=1, ensure_ascii=False) + "\n")


def built(folder: str, work: Path, *options: str) -> Path:
    """A copy of notebooks/rust/`folder` in `work`, with its programs in target/release. NotBuilt:
    `record_programs`.
    """
    shutil.copytree(RUST, work / "rust", ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    project = work / "rust" / folder
    if (done := cargo(project, "build", "--release", *options)).returncode:
        raise NotBuilt(done.stderr.strip())
    return project


def answers(project: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the programs of a built project print, and what the compiler says of those that it
    refuses, by name.
    """
    manifest = tomllib.loads((project / "Cargo.toml").read_text(encoding="utf-8"))
    locked = re.findall(
        r'name = "(.+)"\nversion = "(.+)"', (project / "Cargo.lock").read_text(encoding="utf-8")
    )
    record = {"compiler": subprocess.run(["rustc", "--version"], check=True, **TEXT).stdout.strip()}
    if crates := {
        name: version for name, version in locked if name in manifest.get("dependencies", ())
    }:
        record["crates"] = crates
    for program in manifest["bin"]:
        with TemporaryDirectory(dir=project) as empty:
            done = subprocess.run(
                [project / "target" / "release" / program["name"], empty], check=True, **TEXT
            )
        yield program["name"], record | {"figures": figures_in(done.stdout)}
    for program in manifest["example"]:
        done = cargo(
            project,
            "build",
            "--release",
            "--offline",
            "--features",
            "refused",
            "--example",
            program["name"],
        )
        message = "".join(
            re.findall(r"^error\[(?s:.*)(?=^error: could not compile)", done.stderr, re.M)
        ).strip()
        if not message:
            raise NotBuilt(f"{program['name']}.rs should be refused: {done.stderr.strip()}")
        message = re.sub(r"/\S*/(\w+-\d[^/\s]*/)", r"\1", message)  # no folder of this machine
        codes = [*dict.fromkeys(re.findall(r"^error\[(E\d+)\]", message, re.M))]
        yield program["name"], record | {"codes": codes, "message": message}


def cargo(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        "cargo",
        "--color",
        "never",
        *words,
        "--quiet",
        "--target-dir",
        str(project / "target"),
    ]
    try:
        return subprocess.run(command, cwd=project, **TEXT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(f"cargo: {error}") from error


def figures_in(text: str) -> Figures:
    """Values by section and name, from lines "section<tab>name<tab>value". ValueError for any other
    line.
    """
    figures: Figures = {}
    for line in text.splitlines():
        if line.count("\t") != 2:
            raise ValueError(
                f"{line!r} is not a figure; a program prints section, name and value, separated by "
                "tabs"
            )
        section, name, value = line.split("\t")
        for kind in (int, float, str):
            with suppress(ValueError):
                figures.setdefault(section, {})[name] = kind(value)
                break
    return figures


if __name__ == "__main__":
    record()
