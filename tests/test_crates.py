"""The Rust programs that use crates are built where the crates are available; elsewhere their records stand in."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from helpers import folders
from helpers.measure import crate, crate_refusal, crates, twins
from helpers.measure.crates import CRATES, REFUSED
from helpers.publish.rust_copies import WAYS, copies
from helpers.show import rust
from helpers.units import KiB, MiB

pytestmark = pytest.mark.slow

PROJECT = twins.RUST / "crates"
RECORDS = folders.RECORDED / "rust" / "crates"


@cache
def why_not() -> str:
    """Builds the programs. Returns why that failed, or ""."""
    try:
        crates.build()
    except (twins.NoRust, OSError) as why:
        return str(why)
    return ""


@pytest.fixture
def built() -> Path:
    if why_not():
        pytest.skip(why_not())
    return crates.build()


@pytest.fixture(params=["run", "recorded"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`crate`, run here and as recorded: the lessons say the same about both."""
    if request.param == "run":
        request.getfixturevalue("built")
        return ran
    monkeypatch.setenv("PATH", str(tmp_path))
    return crate


@cache
def ran(name: str) -> twins.Twin:
    """Runs it once for all tests."""
    return crate(name)


def test_copies_take_what_they_hold_at_once(made):
    figures = made("copy").figures
    size = figures["file"]["bytes"]
    assert figures["read_to_end"]["peak heap"] == figures["read_to_end"]["live at the end"] == size
    assert figures["memmap2"]["peak heap"] == figures["io-copy"]["peak heap"] == 0
    assert figures["loop-1MiB"]["peak heap"] == MiB <= figures["tokio-1MiB"]["peak heap"] < 5 * MiB
    assert 16 * KiB < figures["tokio"]["live at the end"] < figures["tokio"]["peak heap"] < size / 100


def test_1024_is_the_line_buffer_of_the_first_print(made):
    line = made("copy").figures["first print"]
    assert line["live after"] - line["live before"] == line["taken by the first"] == 1024
    assert line["taken by the second"] == 0


def test_realloc_never_holds_old_and_new_at_once_where_the_system_moves_pages(made):
    grown = made("copy").figures["realloc"]
    assert grown["live bytes"] == grown["peak heap"] == 64 * MiB
    assert grown["peak if old and new counted"] == 96 * MiB
    assert grown["another address"] <= grown["asked for more"] == 6


def test_what_tokio_holds_grows_with_its_workers(made):
    live = made("copy").figures["live by workers"]
    assert list(live) == ["1", "2", "4", "8", "12", "16"]
    assert KiB < a_worker(live) < 16 * KiB
    assert live["16"] > live["4"] > 16 * KiB


@pytest.mark.measured
def test_a_small_chunk_costs_a_hop_each(made):
    seconds = made("copy").figures["seconds by chunk"]
    assert list(seconds) == [str(4 * KiB << 2 * step) for step in range(8)]
    assert seconds["4096"] > 2 * seconds[str(MiB)]


def test_172952_are_the_workers_of_an_older_tokio():
    (older,) = (told["live by workers"] for version, told in crate("copy").others.items() if " 1.43." in version)
    newer = crate("copy").figures["live by workers"]
    assert older["8"] < 172_952 < older["16"] and newer["16"] < 172_952
    assert a_worker(older) > 2 * a_worker(newer)


def a_worker(live: dict[str, int]) -> float:
    return (live["16"] - live["4"]) / 12


def test_a_cow_copies_where_something_changes_and_the_misprint_does_not_tell(made):
    figures = made("cow").figures
    says = {name: told["says the same place"] for name, told in figures.items() if "says the same place" in told}
    assert says == {"not copied": 1, "copied": 0, "misprinted": 1, "meant": 0}
    assert figures["misprinted"]["lent"] == figures["misprinted"]["copied"] == "0x7", "the number, not an address"


def test_each_link_of_the_chain_copies_all_of_it_once(made):
    figures = made("cow").figures
    for link in ("to_mut", "to_owned", "to_vec", "copy_nonoverlapping"):
        assert figures[link] == {"allocations": 1, "allocated": 4 * MiB, "at another address": 1}
    called = dict.fromkeys(figures["called from"].values())
    assert [name for name in called if name != "to_vec_in"] == ["clone", "to_vec", "to_owned", "to_mut"]


def test_a_yoke_moves_without_its_bytes_and_copies_when_it_changes(made):
    figures = made("yoke").figures
    sizes, text = figures["size_of"], figures["text"]
    assert sizes["Yoke"] == sizes["Cow<str>"] + sizes["Rc<[u8]>"]
    assert text["cart at"] == text["lent at"] == text["moved, at"] != text["changed, at"]
    assert (text["allocated"], text["reads"], text["its clone reads"]) == (4, "BEEF", "beef")
    assert list(figures["owners of the cart"].values()) == [3, 1]


def test_the_last_yoke_unmaps_the_file(made):
    figures = made("yoke").figures
    assert list(figures["mappings of the file"].values()) == [0, 1, 1, 0]
    assert figures["mapped title"] == {"lies in the mapping": 1, "one address": 1, "read after that": "zero copy"}


def test_a_table_for_each_type_and_trait(made):
    tables = made("dispatch").figures["table of"]
    assert tables["Power<1> as Backend"] == tables["another Power<1> as Backend"]
    assert len(set(tables.values())) == 4 == len(tables) - 1


def test_a_generic_function_is_as_long_as_its_types_are_many(made):
    figures = made("dispatch").figures
    once, through_dyn = figures["generic_over_1"]["code"], figures["through_dyn"]
    for types in (1, 4, 16):
        told = figures[f"generic_over_{types}"]
        assert told["copies"] == types and 0.5 < told["code"] / (types * once) < 2
    assert through_dyn["copies"] == 1 and through_dyn["code"] < figures["generic_over_4"]["code"]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_compiler_refuses(
    name: str, recorded: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    if recorded:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        request.getfixturevalue("built")
    found = crate_refusal(name)
    assert found.recorded is recorded and set(found.codes) == REFUSED[name]
    assert f"--> {name}.rs:" in found.message and "/registry/" not in found.message, "a folder of the machine"
    assert {"uncached": "does not live long enough", "unpromised": "StableDeref` is not satisfied"}[
        name
    ] in found.message
    assert re.search(r"tokio 1\.\d+\.\d+", found.made)


@pytest.mark.parametrize("name", CRATES)
def test_what_is_recorded_is_what_runs(built: Path, name: str):
    here, kept = ran(name), json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert not here.recorded and kept["crates"] == here.crates == wanted()
    assert {key: list(told) for key, told in kept["figures"].items()} == {
        key: list(told) for key, told in here.figures.items()
    }


def wanted() -> dict[str, str]:
    """The versions that the project asks for. Each must be exact, because there's no lock file."""
    asked = tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))["dependencies"]
    versions = {name: told if isinstance(told, str) else told["version"] for name, told in asked.items()}
    assert all(re.fullmatch(r"=\d+\.\d+\.\d+", version) for version in versions.values())
    return {name: version[1:] for name, version in versions.items()}


def test_a_change_in_what_they_share_is_another_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    compiler = twins.Compiler("rustc", "1.95.0", "x86_64-unknown-linux-gnu")
    before = crates._folder(compiler)
    monkeypatch.setattr(twins, "RUST", Path(shutil.copytree(twins.RUST, tmp_path / "rust")))
    assert crates._folder(compiler) == before, "it is the content that counts"
    with (tmp_path / "rust" / "counting.rs").open("a") as module:
        module.write("// changed\n")
    assert crates._folder(compiler) != before, "an old program would run"


def test_the_record_is_of_the_versions_that_the_project_asks_for():
    for name in (*CRATES, *REFUSED):
        assert json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["crates"] == wanted()


def test_no_lock_file_is_kept():
    done = subprocess.run(["git", "check-ignore", "Cargo.lock", "target/"], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout.split() == ["Cargo.lock", "target/"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["copy"], "usage: copy FOLDER"),
        (["copy", "/nowhere"], r"/nowhere/zero-copy-\d+: No such file"),
        (["copy", "teleport", "a", "b"], "no way \"teleport\"(?s:.*)ways: read_to_end, tokio"),
        (["copy", "tokio", "/nowhere/a", "b"], "tokio, /nowhere/a to b: No such file"),
        (["copy", "memmap2", "/nowhere/a", "b"], "memmap2, /nowhere/a to b: No such file"),
        (["copy", "tokio", "same", "./same"], "same: a copy onto itself"),
        (["copy", "memmap2", "same", "same"], "same: a copy onto itself"),
        (["copy", "loop-1MiB", "same", "linked"], "same: a copy onto itself"),
        (["yoke", b"\xff"], r"xFF\" is not UTF-8"),
        (["copy", b"\xff"], r"xFF\" is not UTF-8"),
        (["copy", "tokio", "a", "b", "many"], "WORKERS is \"many\"; it must be 1 to 1024"),
        (["yoke"], "usage: yoke FOLDER"),
        (["yoke", "/nowhere"], r"/nowhere/zero-copy-\d+: No such file"),
        (["cow", "1", "2"], "usage: cow"),
        (["dispatch", "1", "2"], "usage: dispatch"),
    ],
)  # fmt: skip
def test_programs_end_well_on_bad_input(built: Path, tmp_path: Path, words: list[str], said: str):
    program, *rest = words
    (tmp_path / "same").write_text("kept")
    (tmp_path / "linked").hardlink_to(tmp_path / "same")
    done = subprocess.run([built / program, *rest], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout and re.search(said, done.stderr)
    assert "panicked" not in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(("same", "linked"), "kept")


@pytest.mark.parametrize("program", ["copy", "yoke"])
def test_programs_leave_what_they_found(built: Path, tmp_path: Path, program: str):
    """Also when their output goes nowhere."""
    for name in ("source", "copy", "document"):
        (tmp_path / name).write_text("kept")
    with open("/dev/full", "w") as full:
        for output in (subprocess.DEVNULL, full):
            done = subprocess.run([built / program, tmp_path], stdout=output, stderr=subprocess.PIPE)
            assert (done.returncode == 0) == (output is not full)
            assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
                ("source", "copy", "document"), "kept"
            )


def test_the_table_of_copies_has_a_row_for_each_way(built: Path):
    header, *rows = (line.split(",") for line in copies(built / "copy", 4 * MiB, rounds=1).splitlines())
    recorded = (folders.RECORDED / "rust_copy.csv").read_text(encoding="utf-8").splitlines()
    assert recorded[0].startswith("# Recorded, not measured here") and recorded[1].split(",") == header
    assert (
        [row[0] for row in rows] == [line.split(",")[0] for line in recorded[2:]] == [*WAYS.values(), "cp", "dd bs=1M"]
    )
    told = {name: dict(zip(header[1:], cells, strict=True)) for name, *cells in rows}
    assert int(told["std read_to_end + write_all"]["heap peak (bytes)"]) >= 4 * MiB
    assert int(told["memmap2 + write_all"]["heap peak (bytes)"]) < 64 * KiB
    assert all(float(row["warm (s)"]) > 0 < float(row["cold (s)"]) for row in told.values())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("", "names no folder of crates"),
        ("/nowhere", "'/nowhere', which is no folder"),
        ("empty", "no matching package"),
    ],
)
def test_why_nothing_can_be_built_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: str, said: str):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    if asked == "empty":
        if why_not():
            pytest.skip(why_not())
        asked = str(tmp_path / asked)
        os.mkdir(asked)
    monkeypatch.setenv("ZERO_COPY_CRATES", asked)
    with pytest.raises(twins.NoRust, match=f"{said}|no rustc on the PATH runs"):
        crates.build()
    assert crate("yoke").recorded and crate_refusal("uncached").recorded


def test_elsewhere_than_on_linux_the_record_stands_in(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(crates.sys, "platform", "darwin")
    with pytest.raises(twins.NoRust, match="on Linux only"):
        crates._built(twins.Compiler("rustc", "1.95.0", "aarch64-apple-darwin"))


def test_names_are_checked():
    with pytest.raises(
        ValueError, match="'crates/cows'; there are: crates/copy, crates/cow, crates/dispatch, crates/yoke"
    ):
        crate("cows")
    with pytest.raises(ValueError, match="there are: crates/uncached, crates/unpromised"):
        crate_refusal("cow")


@pytest.mark.parametrize("name", [*CRATES, *REFUSED])
def test_parts_are_whole(name: str):
    one = crate(name) if name in CRATES else crate_refusal(name)
    for part in map(one.part, re.findall(r"^ *// part: (.+)$", one.source, re.M)):
        assert part.count("{") == part.count("}") and "// part" not in part
        assert part.strip() and all(len(line) <= 86 for line in part.splitlines()), "a line that a page cannot hold"


def test_the_appendix_names_every_program():
    text = (twins.RUST / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in PROJECT.glob("*.rs") if f"`crates/{path.name}`" not in text] == []


def test_a_page_shows_sizes_in_words_and_the_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = repr(rust(crate("cow"), "chain", sections=["to_mut", "to_vec"]))
    assert "4 MiB" in shown and "4,194,304" not in shown and "copy_nonoverlapping(" in shown
    assert re.search(r"Recorded, not run here: rustc 1\.\d+.*, tokio 1\.\d+\.\d+, yoke 0", shown)
