"""The Rust programs: their records have the shape that's taught, and are what the programs print
where cargo is.
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from tables import each_of
from tools import lacking

from helpers import folders
from helpers.folders import scratch_folder
from helpers.measure import crate, twin
from helpers.measure.twins import RUST, Refusal, Twin, crate_refusal, refusal
from helpers.publish.record import NotBuilt, answers, built, figures_in, record_programs
from helpers.show import rust

TWINS = ("copy", "cow", "dispatch", "swap", "yoke")
REFUSED = {"dangling": ("E0505", "E0515")}
CRATES = ("copy", "cow", "dispatch", "yoke")
CRATES_REFUSED = {"uncached": ("E0597",), "unpromised": ("E0277",)}
EVERY = [
    *map(twin, TWINS),
    refusal("dangling"),
    *map(crate, CRATES),
    *map(crate_refusal, CRATES_REFUSED),
]
RECORDS = folders.RECORDED / "rust"


@pytest.fixture(scope="module")
def projects() -> Iterator[Callable[[str], Path]]:
    """Builds one of the folders of programs, once."""
    with scratch_folder("rust") as work:

        @cache
        def project(folder: str) -> Path | NotBuilt:
            (work / f"of-{folder}").mkdir()
            try:
                return built(folder, work / f"of-{folder}", "--offline")
            except NotBuilt as why:
                return why

        def wanted(folder: str) -> Path:
            found = project(folder)
            if isinstance(found, NotBuilt):
                if folder and "offline" in str(found):
                    lacking("the crates", str(found))
                raise found
            return found

        yield wanted


@pytest.fixture(scope="module")
def program(projects: Callable[[str], Path]) -> Callable[[str, str], Path]:
    return lambda folder, name: projects(folder) / "target" / "release" / name


@pytest.fixture(scope="module")
def told(projects: Callable[[str], Path]) -> Callable[[str], dict]:
    """What the programs of a folder say here, by name."""
    return cache(lambda folder: dict(answers(projects(folder))))


@pytest.fixture
def made(told: Callable[[str], dict]) -> Callable[[str], dict]:
    """The figures that a program prints here. The lessons' claims assert the recorded ones."""
    return lambda name: told("")[name]["figures"]


def test_copies_take_what_they_hold_at_once(made):
    figures = made("copy")
    bytes_ = figures["file"]["bytes"]
    assert figures["read_to_end"]["peak heap"] >= bytes_
    assert bytes_ / 100 < figures["chunk loop"]["peak heap"] < bytes_ / 10
    for way in ("io::copy", "mapping"):
        assert figures[way]["peak heap"] < bytes_ / 100
    assert all(
        figures[way]["seconds"] > 0 for way in ("read_to_end", "chunk loop", "io::copy", "mapping")
    )
    assert figures["first line"]["peak heap"] == 1024, "the line buffer of standard output"


def test_a_cow_copies_when_asked_to_write(made):
    figures = made("cow")
    sizes = figures["size_of"]
    assert sizes["&str"] == 16
    assert sizes["String"] == 24
    assert sizes["Cow<str>"] == sizes["Cow<[i32]>"] == sizes["Option<Cow<str>>"] in (24, 32)
    moved = {
        name: one["address before"] != one["address after"]
        for name, one in figures.items()
        if "is" in one
    }
    assert moved == {
        "abs_all, no negative": False,
        "abs_all, one negative": True,
        "to_mut, nothing written": True,
    }
    for name, copied in moved.items():
        assert (figures[name]["is"], figures[name]["allocated"]) == (
            ("Owned", 5 * 4) if copied else ("Borrowed", 0)
        )


def test_dynamic_dispatch_takes_two_words_and_a_table(made):
    figures = made("dispatch")
    sizes = figures["size_of"]
    costs = figures["ns per call"]
    assert (sizes["&Scale"], sizes["&dyn Backend"], sizes["Box<dyn Backend>"]) == (8, 16, 16)
    for name in ("Scale", "Affine"):
        table = figures[f"vtable of {name}"]
        assert list(table) == ["drop", "size", "align", "infer"]
        assert (table["size"], table["align"]) == (sizes[name], 8)
        assert int(table["infer"], 16) > 0
    assert figures["vtable of Scale"]["infer"] != figures["vtable of Affine"]["infer"]
    # called by name, and by hand through the table
    assert list(figures["infer(10)"].values()) == [30, 30, 31, 31]
    assert costs["static (inlined)"] < min(costs["Box<dyn> (shuffled)"], costs["enum (shuffled)"])
    assert costs["static (inlined)"] < costs["static (not inlined)"]
    assert costs["static (inlined)"] < costs["function pointer"] < costs["Box<dyn> (shuffled)"]


def test_a_yoke_moves_without_its_bytes_and_frees_them_at_the_last_drop(made):
    figures = made("yoke")
    views = {value for name, value in figures["move"].items() if name.startswith("view")}
    yokes = {value for name, value in figures["move"].items() if name.startswith("yoke")}
    assert len(views) == 1
    assert len(yokes) == 3
    live = figures["drop"]
    assert live["one yoke"] == live["and its clone"] == live["first dropped"] >= 2**20
    assert live["last dropped"] == 0
    assert list(figures["Rc count"].values()) == [1, 2, 1]


def test_a_swap_waits_for_nobody_and_the_last_owner_unmaps(made):
    figures = made("swap")
    assert all(
        figures[name]["answers"] > 0 and figures[name]["torn"] == 0
        for name in ("thread 1", "thread 2")
    )
    after = {"current version": 10, "version of the slow request": 0, "owners of that version": 1}
    assert figures["after the swaps"] == after
    assert figures["models mapped"] == {"during the slow request": 2, "when that has ended": 1}


@pytest.mark.parametrize(
    "one", [one for one in EVERY if isinstance(one, Refusal)], ids=lambda one: one.name
)
def test_what_the_compiler_refuses(one: Refusal):
    codes = REFUSED | {f"crates/{name}": codes for name, codes in CRATES_REFUSED.items()}
    assert tuple(sorted(one.codes)) == codes[one.name]
    assert f"--> {Path(one.name).name}.rs:" in one.message
    assert str(folders.ROOT) not in one.message and "/registry/" not in one.message, (
        "a folder of the machine"
    )
    says = {
        "dangling": "cannot move out of `cart` because it is borrowed",
        "crates/uncached": "does not live long",
    }
    assert says.get(one.name, "StableDeref` is not satisfied") in one.message


@pytest.mark.parametrize(
    "folder",
    ["", pytest.param("crates", marks=[pytest.mark.slow, pytest.mark.stamped(part="rust")])],
)
def test_what_is_recorded_is_what_runs(folder: str, told: Callable[[str], dict]):
    assert sorted(told(folder)) == sorted(
        (*CRATES, *CRATES_REFUSED) if folder else (*TWINS, *REFUSED)
    )
    for name, here in told(folder).items():
        kept = json.loads((RECORDS / folder / f"{name}.json").read_text(encoding="utf-8"))
        assert set(kept) - {"compilers", "others"} == {*here, "machine", "date"}
        assert sorted(kept.get("codes", ())) == sorted(here.get("codes", ()))
        for section, names in here.get("figures", {}).items():
            words = section.startswith("words")  # three or four, depending on the compiler
            assert words or list(names) == list(kept["figures"][section])
        assert set(kept.get("figures", ())) == set(here.get("figures", ()))
        assert kept.get("crates") == here.get("crates")


def test_the_record_is_of_the_versions_that_the_project_asks_for():
    """Each must be exact, because there's no lock file."""
    asked = tomllib.loads((RUST / "crates" / "Cargo.toml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    versions = {
        name: told if isinstance(told, str) else told["version"] for name, told in asked.items()
    }
    assert all(re.fullmatch(r"=\d+\.\d+\.\d+", version) for version in versions.values())
    for one in EVERY:
        if one.name.startswith("crates/"):
            assert one.crates == {name: version[1:] for name, version in versions.items()}


def test_recording_keeps_other_compilers_and_writes_nothing_half(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Callable[[str], dict]
):
    told("")  # or it's skipped
    monkeypatch.setattr("helpers.publish.record.RECORDED", tmp_path)
    monkeypatch.setattr("helpers.publish.record.FOLDERS", ("",))
    (tmp_path / "rust").mkdir()
    old = json.loads((RECORDS / "cow.json").read_text(encoding="utf-8"))
    (tmp_path / "rust" / "cow.json").write_text(json.dumps(old))
    record_programs("a machine")
    assert sorted(path.stem for path in (tmp_path / "rust").iterdir()) == sorted((*TWINS, *REFUSED))
    kept = json.loads((tmp_path / "rust" / "cow.json").read_text(encoding="utf-8"))
    assert kept["machine"] == "a machine"
    assert kept["compilers"] == old["compilers"]
    (tmp_path / "sources").mkdir()
    monkeypatch.setattr("helpers.publish.record.RUST", tmp_path / "sources")
    (tmp_path / "sources" / "Cargo.toml").write_text(
        '[package]\nname = "x"\n[[bin]]\nname = "x"\npath = "x.rs"\n'
    )
    (tmp_path / "sources" / "x.rs").write_text('fn main() { let x: u8 = "a"; }')
    with pytest.raises(NotBuilt, match="mismatched types"):
        record_programs("another")
    assert "another" not in (tmp_path / "rust" / "cow.json").read_text()


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_parts_are_whole(one: Twin | Refusal):
    marks = re.findall(r"^ *// part: (.+)$", one.source, re.M)
    assert marks
    for part in map(one.part, marks):
        assert part.count("{") == part.count("}")
        assert "// part" not in part
        assert "// end" not in part
        assert part.strip() and all(len(line) <= 86 for line in part.splitlines()), (
            "a line that a page cannot hold"
        )
    with pytest.raises(ValueError, match="no part 'beginning'; there are: "):
        one.part("beginning")


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(
        ValueError, match="no Rust program 'cows'; there are: copy, cow, dispatch, swap, yoke"
    ):
        twin("cows")
    with pytest.raises(ValueError, match="there are: uncached, unpromised"):
        crate_refusal("cow")
    with pytest.raises(ValueError, match="no section 'sizes'; there are: size_of, "):
        rust(twin("cow"), sections=["sizes"])


def test_figures_are_read_from_what_a_program_prints():
    assert figures_in("a\tb\t1\na\tc\t1.5\nd\te\t0x1f\n") == {
        "a": {"b": 1, "c": 1.5},
        "d": {"e": "0x1f"},
    }
    with pytest.raises(ValueError, match="'a b' is not a figure"):
        figures_in("a b\n")


def test_a_page_shows_source_figures_and_where_they_were_made():
    shown = rust(
        twin("copy"), "chunks", sections=("read_to_end", "chunk loop"), caption="Two ways."
    )
    page = BeautifulSoup(shown._repr_html_(), "html.parser")
    assert page.pre.get_text().strip() == twin("copy").part("chunks").strip()
    assert [row.th.get_text() for row in page.tbody.find_all("tr")] == [
        "read_to_end",
        "chunk loop",
    ]
    assert page.caption.get_text() == "Two ways."
    assert "64\xa0MiB" in page.tbody.get_text()
    assert page.p.get_text().startswith("Recorded, not run here: rustc 1.")
    naive = refusal("dangling")
    page = BeautifulSoup(rust(refusal("dangling"), "naive")._repr_html_(), "html.parser")
    source, message = page.find_all("pre")
    assert source.get_text().strip() == naive.part("naive").strip()
    assert message.get_text() == naive.message


@pytest.mark.slow
@pytest.mark.stamped(part="rust")
@each_of(
    ("words", "message"),
    (["copy"], "usage: copy FOLDER"),
    (["copy", "teleport", "a", "b"], 'no way "teleport"(?s:.*)ways: read_to_end, tokio'),
    (["copy", "tokio", "/nowhere/a", "b"], "tokio, /nowhere/a to b: No such file"),
    (["copy", "loop-1MiB", "same", "linked"], "same: a copy onto itself"),
    (["yoke", b"\xff"], r"xFF\" is not UTF-8"),
)
def test_programs_name_bad_input_and_touch_nothing(
    program: Callable, tmp_path: Path, words: list[str], message: str
):
    name, *rest = words
    (tmp_path / "same").write_text("kept")
    (tmp_path / "linked").hardlink_to(tmp_path / "same")
    done = subprocess.run(
        [program("crates", name), *rest], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert not done.stdout
    assert re.search(message, done.stderr)
    assert "panicked" not in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("same", "linked"), "kept"
    )


@pytest.mark.needs(tool="Rust")
def test_the_appendix_compiles(tmp_path: Path):
    """Its examples compile as one program, except for the line that's meant to be refused."""
    text = (RUST / "README.md").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in re.findall(r"```rust\n(.*?)```", text, re.S)]
    refused = [line for block in blocks for line in block if "// refused" in line]
    assert len(refused) == 1
    assert all(len(line) <= 86 for block in blocks for line in block), (
        "a line that a page cannot hold"
    )
    for kept, code in (([], 0), (refused, 1)):
        lines = ["#![allow(dead_code, unused)]", "use std::rc::Rc;", "fn main() {"]
        for block in blocks:
            lines += ["{", *(line for line in block if line not in refused or line in kept), "}"]
        lines[lines.index("match cow {")] = 'let cow = Cow::Owned("x".into()); match cow {'
        (tmp_path / "a.rs").write_text("\n".join([*lines, "}"]))
        command = [
            "rustc",
            "--edition",
            "2021",
            "--emit=metadata",
            "-o",
            str(tmp_path / "a"),
            str(tmp_path / "a.rs"),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert not kept or "E0382" in done.stderr


@pytest.mark.parametrize("name, theirs", [("copy", "source"), ("swap", "model")])
def test_no_file_of_anybody_s_is_touched(program: Callable, name: str, theirs: str, tmp_path: Path):
    (tmp_path / theirs).write_text("mine")
    done = subprocess.run([program("", name), tmp_path], capture_output=True, text=True)
    assert done.returncode and "name an empty folder" in done.stderr, done
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(theirs, "mine")]
