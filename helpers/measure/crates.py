"""Rust programs that use crates (Tokio, memmap2, yoke): built by cargo where crates can be had, else as recorded.

from helpers.measure import crate
crate("copy").figures["first print"]["taken by the first"]  # 1024

They are built by `build`, in `make record` and in the tests, where ZERO_COPY_CRATES names a folder of crates, such as
Debian's /usr/share/cargo/registry, or is "index": then cargo fetches them from where it usually does. A lesson builds
nothing, because Tokio takes half a minute; it runs what was built before.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import folders
from ..scratch import scratch
from . import twins
from .twins import TEXT, Compiler, Figures, NoRust, Refusal, Twin

CRATES = ("copy", "cow", "dispatch", "yoke")  # these run
REFUSED = {"uncached": {"E0597"}, "unpromised": {"E0277"}}  # these must not compile, for exactly these errors
USED = ("memmap2", "stable_deref_trait", "tokio", "yoke")
BUILD_LIMIT = 600  # seconds
OTHER_TOKIO = """\
[package]
name = "zero-copy"
version = "0.0.0"
edition = "2021"
[dependencies]
memmap2 = "*"
tokio = { version = "*", features = ["full"] }
[lib]
path = "lib.rs"
[[bin]]
name = "copy"
path = "copy.rs"
"""  # the project, as far as copy.rs needs it, for a registry with other versions


def crate(name: str) -> Twin:
    """Runs notebooks/rust/crates/`name`.rs, if `build` has built this source with this compiler, and returns what it
    printed; otherwise the recorded figures, and `recorded` is True. `crates` has the versions.

    ValueError for an unknown name; RuntimeError, with the program's message, if the program fails.
    """

    def ask(compiler: Compiler) -> dict[str, Any]:
        folder = _built(compiler)
        return {"figures": twins.run(name, folder / name), "crates": _versions(folder)}

    answer = twins.answered(f"crates/{name}", _in_folder(CRATES), ask)
    if "counting::" in answer["source"]:
        answer["source"] += (twins.RUST / "counting.rs").read_text(encoding="utf-8")
    return Twin(**answer | {"compilers": {}, "others": twins.kept(f"crates/{name}").get("others", {})})


def crate_refusal(name: str) -> Refusal:
    """What the compiler said about notebooks/rust/crates/`name`.rs, which must not compile, when `build` asked it; or
    the recorded answer. ValueError for an unknown name."""

    def ask(compiler: Compiler) -> dict[str, Any]:
        folder = _built(compiler)
        message = (folder / f"{name}.txt").read_text(encoding="utf-8")
        return {"message": message, "codes": twins.codes_in(message), "crates": _versions(folder)}

    answer = twins.answered(f"crates/{name}", _in_folder(REFUSED), ask)
    return Refusal(**answer | {"codes": tuple(answer["codes"])})


def build() -> Path:
    """Builds the programs, asks the compiler about those that it must refuse, and returns the folder of all that.

    NoRust, with the reason, where ZERO_COPY_CRATES is not set, there is no cargo or compiler, or cargo doesn't find the
    versions that the project asks for. RuntimeError, with the compiler's message, if a source is at fault: does not
    compile, or is not refused as it should be.
    """
    compiler = twins.compiler()
    folder = _folder(compiler)
    if folder.exists():
        return folder
    with _project(_asked()[0], compiler) as (project, cargo):
        _must(cargo("build", "--release"))
        _must(cargo("test", "--release", "--bin", "cow"))
        made = scratch(folder.name)
        made.mkdir()
        for name in CRATES:
            os.replace(project / "target" / "release" / name, made / name)
        for name, codes in REFUSED.items():
            said = cargo("build", "--release", "--features", "refused", "--example", name)
            message = _refusal_in(said.stderr)
            if set(twins.codes_in(message)) != codes:
                raise RuntimeError(f"{name}.rs should be refused for {', '.join(codes)}:\n{said.stderr.strip()}")
            (made / f"{name}.txt").write_text(message, encoding="utf-8")
        (made / "crates.json").write_text(json.dumps(_locked(project)), encoding="utf-8")
    folder.parent.mkdir(exist_ok=True)
    try:
        os.replace(made, folder)
    except OSError:
        if not folder.exists():  # another process was first
            raise
    return folder


def record(machine: str) -> None:
    """Builds and runs all of them and keeps what they say in data/recorded/rust/crates, as made on `machine`.

    Registries after the first in ZERO_COPY_CRATES (separated as in PATH) are asked for another Tokio, of which copy.rs
    says what it holds by number of workers; those recorded before stay. NoRust as `build`.
    """
    build()
    for made in (*map(crate, CRATES), *map(crate_refusal, REFUSED)):
        extra = {"crates": made.crates}
        if made.name == "crates/copy":
            others = dict(_live_of_another_tokio(registry) for registry in _asked()[1:])
            extra["others"] = twins.kept(made.name).get("others", {}) | others
        twins.keep(made, machine, extra)


def _in_folder(names: Any) -> tuple[str, ...]:
    return tuple(f"crates/{name}" for name in names)


def _live_of_another_tokio(registry: str) -> tuple[str, Figures]:
    """ "tokio 1.43.1", and what copy.rs prints with it of the event loop."""
    with _project(registry, twins.compiler()) as (project, cargo):
        folders.write_whole(project / "Cargo.toml", OTHER_TOKIO)
        _must(cargo("build", "--release"))
        figures = twins.run("copy", project / "target" / "release" / "copy")
        return f"tokio {_locked(project)['tokio']}", {"live by workers": figures["live by workers"]}


Cargo = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def _project(registry: str, compiler: Compiler) -> Iterator[tuple[Path, Cargo]]:
    """A copy of the project, because cargo writes a lock file beside it; and cargo, in that copy."""
    cargo = shutil.which("cargo")
    if not cargo:
        raise NoRust("there is no cargo on the PATH")
    where = [] if registry == "index" else [
        "--offline", "--config", 'source.crates-io.replace-with="found"',
        "--config", f"source.found.directory={json.dumps(registry)}",
    ]  # fmt: skip
    with TemporaryDirectory(dir=scratch("crates").parent) as folder:
        shutil.copytree(twins.RUST, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
        project = Path(folder) / "crates"
        own = {"CARGO_TARGET_DIR": str(project / "target"), "RUSTC": compiler.path}

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            command = [cargo, "--color", "never", *words, "--quiet", *where]
            try:
                return subprocess.run(command, cwd=project, env=os.environ | own, timeout=BUILD_LIMIT, **TEXT)
            except subprocess.TimeoutExpired as error:
                raise NoRust(f"cargo doesn't end: {error}") from error

        yield project, run


def _must(said: subprocess.CompletedProcess[str]) -> None:
    """RuntimeError if a source is at fault, and NoRust if anything else failed."""
    if said.returncode:
        fault = (
            re.search(r"^error(\[E\d+\])?: .*\n +--> (?!/)(\.\./)?\w+\.rs:", said.stderr, re.M)
            or "test result: FAILED" in said.stdout
        )
        kind = RuntimeError if fault else NoRust
        raise kind(f"cargo ended with {said.returncode}:\n{said.stdout}{said.stderr}".strip())


def _refusal_in(text: str) -> str:
    """From the first error on, without cargo's last word and the folders of this machine."""
    message = "".join(re.findall(r"^error\[(?s:.*)(?=^error: could not compile)", text, re.M)).strip()
    return re.sub(rf"/\S*/((?:{'|'.join(USED)})-\d[^/]*/)", r"\1", message)


def _built(compiler: Compiler) -> Path:
    if sys.platform != "linux":
        raise NoRust("what the programs ask, /proc and their own ELF files, is found on Linux only")
    folder = _folder(compiler)
    if not folder.exists():
        raise NoRust("the programs with crates were not built here")
    return folder


def _folder(compiler: Compiler) -> Path:
    sources = sorted((*(twins.RUST / "crates").glob("*.rs"), twins.RUST / "crates" / "Cargo.toml"))
    sources.append(twins.RUST / "counting.rs")
    text = "\0".join(path.read_text(encoding="utf-8") for path in sources)
    key = sha256(f"{compiler.version}\0{compiler.host}\0{text}".encode()).hexdigest()[:16]
    return folders.generated() / "rust" / f"crates-{key}"


def _versions(folder: Path) -> dict[str, str]:
    return json.loads((folder / "crates.json").read_text(encoding="utf-8"))


def _locked(project: Path) -> dict[str, str]:
    """The versions that cargo chose, of the crates that the project names."""
    text = (project / "Cargo.lock").read_text(encoding="utf-8")
    return {name: version for name, version in re.findall(r'name = "(.+)"\nversion = "(.+)"', text) if name in USED}


def _asked() -> list[str]:
    """The registries in ZERO_COPY_CRATES. NoRust if there is none."""
    asked = [place for place in os.environ.get("ZERO_COPY_CRATES", "").split(os.pathsep) if place]
    if not asked:
        raise NoRust("ZERO_COPY_CRATES names no folder of crates (and isn't “index”)")
    for place in asked:
        if place != "index" and not os.path.isdir(place):
            raise NoRust(f"ZERO_COPY_CRATES names {place!r}, which is no folder")
    return asked
