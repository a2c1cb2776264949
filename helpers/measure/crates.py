"""Rust programs that use crates (Tokio, memmap2, yoke): built by cargo where crates can be had, else as recorded.

from helpers.measure import crate
crate("copy").figures["first print"]["taken by the first"]  # 1024

They are built by `build`, in `make record` and in the tests, where ZERO_COPY_CRATES names a folder of crates, as Debian's
/usr/share/cargo/registry, or is "index": then cargo fetches them from where it usually does. A lesson builds nothing,
because Tokio takes half a minute; it runs what was built before.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import folders
from ..scratch import room, scratch
from ..units import MiB
from . import twins
from .cache import drop_from_cache
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
        _programs(cargo)
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
    """Builds and runs all of them and keeps what they say in data/recorded/rust/crates, as made on `machine`; and
    rust_copy.csv. Registries after the first in ZERO_COPY_CRATES (separated as in PATH) are asked for another Tokio, of
    which copy.rs says what it holds by number of workers; those recorded before stay. NoRust as `build`."""
    folder = build()
    for made in (*map(crate, CRATES), *map(crate_refusal, REFUSED)):
        extra = {"crates": made.crates}
        if made.name == "crates/copy":
            others = dict(_live_of_another_tokio(registry) for registry in _asked()[1:])
            extra["others"] = twins.kept(made.name).get("others", {}) | others
        twins.keep(made, machine, extra)
    versions = _versions(folder)
    title = (
        f"Recorded, not measured here: copying 1 GiB in Rust ({twins.compiler().version.rsplit(' (')[0]}, release build; "
        f"tokio {versions['tokio']}, memmap2 {versions['memmap2']}) on {machine}. Bytes as counted by an allocator; "
        "memory in MiB when the copy had just ended; seconds are the best of several whole processes."
    )
    folders.write_whole(folders.RECORDED / "rust_copy.csv", f"# {title}\n{copies(folder / 'copy', 1024 * MiB)}")


def copies(program: Path, size: int, rounds: int = 4) -> str:
    """The CSV of all ways to copy `size` bytes, each in processes of its own, with cp and dd for comparison."""
    ways = {
        "std read_to_end + write_all": [program, "read_to_end"],
        "tokio::io::copy (2 workers)": [program, "tokio"],
        "tokio copy_buf 1 MiB": [program, "tokio-1MiB"],
        "memmap2 + write_all": [program, "memmap2"],
        "std::io::copy (copy_file_range)": [program, "io-copy"],
        "read/write loop 64 KiB": [program, "loop-64KiB"],
        "read/write loop 1 MiB": [program, "loop-1MiB"],
        "cp": ["cp"],
        "dd bs=1M": ["dd", "status=none", "bs=1M"],
    }
    rows = io.StringIO()
    to = csv.writer(rows, lineterminator="\n")
    counts = ("live at the end", "peak heap", "anonymous", "file-backed", "minor faults")
    to.writerow(("method", "heap at the end (bytes)", "heap peak (bytes)", "anonymous (MiB)", "file-backed (MiB)",
                 "minor faults", "warm (s)", "cold (s)"))  # fmt: skip
    with room("rust-copies") as folder:
        source, copy = folder / "source", folder / "copy"
        with source.open("wb") as file:
            for _ in range(0, size, MiB):
                file.write(os.urandom(MiB))
        for name, command in ways.items():
            ends = [f"if={source}", f"of={copy}"] if command[0] == "dd" else [source, copy]
            seconds: dict[str, list[float]] = {"warm": [], "cold": []}
            for kind in ("warm", "cold") * rounds:
                if kind == "cold":
                    drop_from_cache(source)
                else:
                    source.read_bytes()
                copy.unlink(missing_ok=True)
                start = time.perf_counter()
                told = subprocess.run([*command, *ends], check=True, **TEXT).stdout
                seconds[kind].append(time.perf_counter() - start)
            (figures,) = twins.figures_in(told).values() or ({},)
            cells = [figures.get(count, "") for count in counts]
            cells[2:4] = [cell and round(cell / MiB) for cell in cells[2:4]]
            to.writerow((name, *cells, *(f"{min(times):.3f}" for times in seconds.values())))
    return rows.getvalue()


def _in_folder(names: Any) -> tuple[str, ...]:
    return tuple(f"crates/{name}" for name in names)


def _live_of_another_tokio(registry: str) -> tuple[str, Figures]:
    """ "tokio 1.43.1", and what copy.rs prints with it of the event loop."""
    with _project(registry, twins.compiler()) as (project, cargo):
        folders.write_whole(project / "Cargo.toml", OTHER_TOKIO)
        _programs(cargo)
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


def _programs(cargo: Cargo) -> None:
    said = cargo("build", "--release")
    if said.returncode:
        at_fault = re.search(r"^error(\[E\d+\])?: .*\n +--> (?!/)(\.\./)?\w+\.rs:", said.stderr, re.M)
        kind = RuntimeError if at_fault else NoRust
        raise kind(f"cargo ended with {said.returncode}:\n{said.stderr.strip()}")


def _refusal_in(text: str) -> str:
    """From the first error on, without cargo's last word and the folders of this machine."""
    message = "".join(re.findall(r"^error\[(?s:.*)(?=^error: could not compile)", text, re.M)).strip()
    return re.sub(r"/\S*/((?:%s)-\d[^/]*/)" % "|".join(USED), r"\1", message)


def _built(compiler: Compiler) -> Path:
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
    asked = [one for one in os.environ.get("ZERO_COPY_CRATES", "").split(os.pathsep) if one]
    if not asked:
        raise NoRust("ZERO_COPY_CRATES names no folder of crates (and isn't “index”)")
    for one in asked:
        if one != "index" and not os.path.isdir(one):
            raise NoRust(f"ZERO_COPY_CRATES names {one!r}, which is no folder")
    return asked
