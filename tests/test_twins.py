"""The Rust twins: they compile, their figures have the shape that's taught, and records can stand in for them."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from helpers import folders
from helpers.measure import refusal, twin, twins
from helpers.measure.twins import REFUSED, TWINS, Twin, figures_in
from helpers.show import rust


def no_rust() -> str:
    try:
        twins.printed_by("cow", twins.compiler())
    except (twins.NoRust, OSError) as why:
        return str(why)
    return ""


NO_RUST = no_rust()
needs_rust = pytest.mark.skipif(bool(NO_RUST), reason=NO_RUST or "there is a rustc")
RUSTC = os.path.abspath(shutil.which("rustc") or "rustc")
RECORDS = folders.RECORDED / "rust"


@pytest.fixture
def without_rust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH with nothing on it. Returns its one folder, so that a test can put something there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture(params=[pytest.param(False, marks=needs_rust, id="run"), pytest.param(True, id="recorded")])
def made(request: pytest.FixtureRequest):
    """`twin`, run here and as recorded: the lessons say the same about both."""
    if request.param:
        request.getfixturevalue("without_rust")
        return lambda name: checked(twin(name), True)
    return lambda name: checked(ran(name), False)


@cache
def ran(name: str) -> Twin:
    """Runs it once for all tests."""
    return twin(name)


def checked(one: Twin, recorded: bool) -> Twin:
    assert one.recorded is recorded and one.compiler.startswith("rustc 1.")
    assert ("Recorded, not run here" in repr(one)) is recorded
    return one


def test_copies_take_what_they_hold_at_once(made):
    figures = made("copy").figures
    bytes_ = figures["file"]["bytes"]
    assert figures["read_to_end"]["peak heap"] >= bytes_
    assert bytes_ / 100 < figures["chunk loop"]["peak heap"] < bytes_ / 10
    for way in ("io::copy", "mapping"):
        assert figures[way]["peak heap"] < bytes_ / 100
    assert all(figures[way]["seconds"] > 0 for way in ("read_to_end", "chunk loop", "io::copy", "mapping"))
    assert figures["first line"]["peak heap"] == 1024, "the line buffer of standard output"


def test_a_cow_copies_when_asked_to_write(made):
    figures = made("cow").figures
    sizes = figures["size_of"]
    assert sizes["&str"] == 16 and sizes["String"] == 24
    assert sizes["Cow<str>"] == sizes["Cow<[i32]>"] == sizes["Option<Cow<str>>"] in (24, 32)
    moved = {name: one["address before"] != one["address after"] for name, one in figures.items() if "is" in one}
    assert moved == {
        "abs_all, no negative": False, "abs_all, one negative": True, "to_mut, nothing written": True,
    }  # fmt: skip
    for name, copied in moved.items():
        assert (figures[name]["is"], figures[name]["allocated"]) == (("Owned", 5 * 4) if copied else ("Borrowed", 0))


def test_words_of_a_cow_point_to_its_text(made):
    figures = made("cow").figures
    for name in ("words: borrowed beef", "words: owned beef"):
        words = {word: value for word, value in figures[name].items() if word.startswith("word ")}
        assert len(words) * 8 == figures["size_of"]["Cow<str>"]
        assert figures[name]["text at"] in words.values() and "0x4" in words.values()
    assert "0x10" in figures["words: owned beef"].values(), "the capacity"


def test_older_compilers_needed_a_word_more():
    assert twin("cow").compilers["1.63.0"]["size_of"]["Cow<str>"] == 32


def test_dynamic_dispatch_takes_two_words_and_a_table(made):
    figures = made("dispatch").figures
    sizes, costs = figures["size_of"], figures["ns per call"]
    assert (sizes["&Scale"], sizes["&dyn Backend"], sizes["Box<dyn Backend>"]) == (8, 16, 16)
    for name in ("Scale", "Affine"):
        table = figures[f"vtable of {name}"]
        assert list(table) == ["drop", "size", "align", "infer"]
        assert (table["size"], table["align"]) == (sizes[name], 8) and int(table["infer"], 16) > 0
    assert figures["vtable of Scale"]["infer"] != figures["vtable of Affine"]["infer"]
    assert list(figures["infer(10)"].values()) == [30, 30, 31, 31]  # called by name, and by hand through the table
    assert costs["static (inlined)"] < min(costs["Box<dyn> (shuffled)"], costs["enum (shuffled)"])
    assert costs["static (inlined)"] < costs["static (not inlined)"]


def test_a_yoke_moves_without_its_bytes_and_frees_them_at_the_last_drop(made):
    figures = made("yoke").figures
    views = {value for name, value in figures["move"].items() if name.startswith("view")}
    yokes = {value for name, value in figures["move"].items() if name.startswith("yoke")}
    assert len(views) == 1 and len(yokes) == 3
    live = figures["drop"]
    assert live["one yoke"] == live["and its clone"] == live["first dropped"] >= 2**20 and live["last dropped"] == 0
    assert list(figures["Rc count"].values()) == [1, 2, 1]


def test_a_swap_waits_for_nobody_and_the_last_owner_unmaps(made):
    figures = made("swap").figures
    threads = [figures[name] for name in ("thread 1", "thread 2")]
    assert all(one["answers"] > 0 and one["torn"] == 0 for one in threads)
    after = {"current version": 10, "version of the slow request": 0, "owners of that version": 1}
    assert figures["after the swaps"] == after
    assert figures["models mapped"] == {"during the slow request": 2, "when that has ended": 1}


@needs_rust
@pytest.mark.parametrize("name", TWINS)
def test_what_is_recorded_is_what_runs(name: str):
    here, kept = ran(name), json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert set(kept["figures"]) == set(here.figures)
    for section, names in here.figures.items():
        words = section.startswith("words")  # three or four, depending on the compiler
        assert words or list(names) == list(kept["figures"][section])
    assert set(kept) - {"compilers"} == {"figures", "compiler", "machine", "date"}


@needs_rust
def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path))
    first = twin("yoke")
    (program,) = (tmp_path / "rust").iterdir()
    made = program.stat().st_mtime_ns
    assert twin("yoke").figures["drop"] == first.figures["drop"]
    assert [one.stat().st_mtime_ns for one in (tmp_path / "rust").iterdir()] == [made]

    source = tmp_path / "sources" / "yoke.rs"
    shutil.copytree(twins.RUST, source.parent)
    monkeypatch.setattr(twins, "RUST", source.parent)
    twin("yoke")
    assert program.stat().st_mtime_ns == made, "it is the content that counts"
    with source.parent.joinpath("counting.rs").open("a") as module:
        module.write("// changed\n")
    twin("yoke")
    assert len(list((tmp_path / "rust").iterdir())) == 2, "a module changed, and an old program ran"


@needs_rust
def test_recording_keeps_the_figures_of_compilers_that_are_not_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(folders, "RECORDED", tmp_path)
    (tmp_path / "rust").mkdir()
    old = json.loads((RECORDS / "cow.json").read_text(encoding="utf-8"))
    old["compilers"]["1.0.0"] = {"size_of": {"Cow<str>": 32}}
    (tmp_path / "rust" / "cow.json").write_text(json.dumps(old))
    twins.record("a machine")
    assert sorted(path.stem for path in (tmp_path / "rust").iterdir()) == sorted((*TWINS, *REFUSED))
    kept = json.loads((tmp_path / "rust" / "cow.json").read_text(encoding="utf-8"))
    assert kept["machine"] == "a machine" and kept["compilers"]["1.0.0"] == {"size_of": {"Cow<str>": 32}}


@pytest.mark.parametrize("broken", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho nonsense\n", "no program"])
def test_a_broken_rustc_is_none(without_rust: Path, broken: str):
    (without_rust / "rustc").write_text(broken)
    (without_rust / "rustc").chmod(0o755)
    assert twin("cow").recorded and refusal("dangling").recorded


@needs_rust
@pytest.mark.parametrize(
    "broken",
    [
        "kill -9 $$",
        "exit 0",
        'exec "$RUSTC" --sysroot /nonexistent "$@"',  # no std: E0463
        # 1.63 also gives an error for each use of what's missing
        r"printf 'error[E0463]: no std\n\nerror[E0412]: no Vec\n --> %s:1:1\n' yoke.rs dangling.rs >&2; exit 1",
        r"printf 'error: internal compiler error: oh\n --> yoke.rs:1:1\n' >&2; exit 101",
    ],
    ids=["killed", "no file", "no std", "no std, 1.63", "broken down"],
)
def test_a_rustc_that_compiles_nothing_is_none(without_rust: Path, monkeypatch: pytest.MonkeyPatch, broken: str):
    version = subprocess.run([RUSTC, "-vV"], capture_output=True, text=True, check=True).stdout
    (without_rust / "version").write_text(version)
    cat = f"while read -r line; do echo \"$line\"; done < '{without_rust}/version'; exit"
    (without_rust / "rustc").write_text(f'#!/bin/sh\nif [ "$1" = -vV ]; then {cat}; fi\n{broken}\n')
    (without_rust / "rustc").chmod(0o755)
    monkeypatch.setenv("RUSTC", RUSTC)
    monkeypatch.setenv("ZERO_COPY_DATA", str(without_rust / "data"))
    assert twins.compiler().version == version.splitlines()[0], "it must look like one that works"
    assert twin("yoke").recorded
    found = refusal("dangling")
    assert found.recorded and set(found.codes) == {"E0505", "E0515"}


@needs_rust
@pytest.mark.parametrize("folder", ["plain file", "below a plain file/data", "name in another coding \udcff"])
def test_where_nothing_can_be_written_the_record_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str):
    for name in ("plain file", "below a plain file"):
        (tmp_path / name).touch()
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / folder))
    if sys.platform == "darwin" and not folder.isprintable():
        pytest.skip("macOS has no such names")
    assert twin("yoke").recorded and refusal("dangling").recorded


@needs_rust
def test_patience_is_less_than_a_lessons(without_rust: Path, monkeypatch: pytest.MonkeyPatch):
    assert twins.ASK_LIMIT <= 15 and twins.TIME_LIMIT <= 60, "a cell of a lesson has 60 s"
    monkeypatch.setattr(twins, "ASK_LIMIT", 0.2)
    (without_rust / "rustc").write_text("#!/bin/sh\nwhile :; do :; done\n")
    (without_rust / "rustc").chmod(0o755)
    assert twin("yoke").recorded


@needs_rust
def test_the_heap_counts_growth_once_and_passes_on_what_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    shutil.copy(twins.RUST / "counting.rs", tmp_path)
    monkeypatch.setattr(twins, "RUST", tmp_path)
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    (tmp_path / "probe.rs").write_text("""
        mod counting;
        fn show<T>(name: &str, work: impl FnOnce() -> T) {
            let (_kept, heap) = counting::during(work);
            println!("{}\\tpeak\\t{}", name, heap.peak);
            println!("{}\\ttimes\\t{}", name, heap.times);
        }
        fn main() {
            show("grown", || {
                let mut bytes = Vec::<u8>::with_capacity(1 << 20);
                bytes.reserve_exact(1 << 21);
                bytes
            });
            show("zeroed", || vec![0_u8; 1 << 30]);
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or("0 0".into());
            println!("here\\tpages\\t{}", pages.split(' ').nth(1).unwrap());
            println!("here\\tlive\\t{}", counting::live());
        }
    """)
    figures = twins.printed_by("probe", twins.compiler())
    assert figures["grown"] == {"peak": 2 << 20, "times": 2}
    assert figures["zeroed"] == {"peak": 1 << 30, "times": 1}
    assert figures["here"]["pages"] < 10_000, "zeroed by hand, page by page, and not passed on"


@needs_rust
def test_without_a_linker_the_record_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rustc").symlink_to(shutil.which("rustc"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    assert twin("yoke").recorded
    assert not refusal("dangling").recorded, "to refuse takes no linker"


@pytest.mark.parametrize("recorded", [pytest.param(False, marks=needs_rust), True])
def test_the_naive_yoke_is_refused(recorded: bool, request: pytest.FixtureRequest):
    if recorded:
        request.getfixturevalue("without_rust")
    found = refusal("dangling")
    assert found.recorded is recorded and set(found.codes) == {"E0505", "E0515"}
    assert "cannot move out of `cart` because it is borrowed" in found.message
    assert str(folders.ROOT) not in found.message and "--> dangling.rs:" in found.message


@needs_rust
def test_errors_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(twins, "RUST", tmp_path)
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    (tmp_path / "counting.rs").write_text("nonsense")
    for source, said in (
        ('fn main() { let x: u8 = "a"; }', "does not compile with rustc .*(?s:.*)mismatched types"),
        ("fn main() { let x = ; }", "does not compile with(?s:.*)expected expression"),
        ("mod counting; fn main() {}", r"does not compile with(?s:.*)counting.rs:1:1"),
        ('fn main() { panic!("no room"); }', "ended with 101:(?s:.*)no room"),
    ):
        (tmp_path / "cow.rs").write_text(source)
        with pytest.raises(RuntimeError, match=said):
            twin("cow")
    (tmp_path / "dangling.rs").write_text("fn main() {}")
    with pytest.raises(RuntimeError, match="should be refused"):
        refusal("dangling")


def test_names_are_checked():
    with pytest.raises(ValueError, match="no Rust program 'cows'; there are: copy, cow, dispatch, swap, yoke"):
        twin("cows")
    with pytest.raises(ValueError, match="there are: dangling"):
        refusal("cow")
    with pytest.raises(ValueError, match="'a b' is not a figure"):
        figures_in("a b\n")
    assert figures_in("a\tb\t1\na\tc\t1.5\nd\te\t0x1f\n") == {"a": {"b": 1, "c": 1.5}, "d": {"e": "0x1f"}}


@pytest.mark.parametrize("name", [*TWINS, *REFUSED])
def test_parts_are_whole(name: str, without_rust: Path):
    one = twin(name) if name in TWINS else refusal(name)
    marks = [line.strip() for line in one.source.splitlines() if line.strip().startswith("// part: ")]
    assert marks
    for mark in marks:
        part = one.part(mark.removeprefix("// part: "))
        assert part.count("{") == part.count("}") and "// part" not in part and "// end" not in part
        assert part.strip() and all(len(line) <= 86 for line in part.splitlines()), "a line that a page cannot hold"
    with pytest.raises(ValueError, match="no part 'beginning'; there are: "):
        one.part("beginning")


def test_a_page_shows_source_figures_and_whose_they_are(without_rust: Path):
    shown = rust(twin("copy"), "chunks", sections=("read_to_end", "chunk loop"), caption="Two ways.")
    page = BeautifulSoup(shown._repr_html_(), "html.parser")
    assert page.pre.get_text().strip() == twin("copy").part("chunks").strip()
    assert [row.th.get_text() for row in page.tbody.find_all("tr")] == ["read_to_end", "chunk loop"]
    assert page.caption.get_text() == "Two ways." and "64 MiB" in page.tbody.get_text()
    assert page.p.get_text().startswith("Recorded, not run here: rustc 1.")
    assert "buffer" in repr(shown) and "64 MiB" in repr(shown) and "Recorded, not run here" in repr(shown)

    (only,) = BeautifulSoup(rust(twin("cow"), sections=["size_of"])._repr_html_(), "html.parser").find_all("thead")
    assert only.get_text(" ") == "size_of value"
    assert "<table" not in rust(twin("cow"), "abs_all", sections=())._repr_html_()

    naive, refused = refusal("dangling"), rust(refusal("dangling"), "naive")
    source, message = BeautifulSoup(refused._repr_html_(), "html.parser").find_all("pre")
    assert source.get_text().strip() == naive.part("naive").strip() and message.get_text() == naive.message
    assert naive.part("naive") in repr(refused) and naive.message in repr(refused)
    with pytest.raises(ValueError, match="no section 'sizes'; there are: size_of, "):
        rust(twin("cow"), sections=["sizes"])


def test_the_appendix_names_every_program():
    text = (twins.RUST / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in twins.RUST.glob("*.rs") if f"`{path.name}`" not in text] == []
    shown: dict[str, list[str]] = {}
    for lesson in sorted(folders.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        for name in re.findall(r"\b(?:twin|refusal)\(\\?[\"'](\w+)", lesson.read_text(encoding="utf-8")):
            shown.setdefault(f"{name}.rs", []).append(lesson.name[:2])
    table = dict(re.findall(r"^\| `(\w+\.rs)` \| ([\d, ]+) \|", text, re.M))
    assert table == {name: ", ".join(dict.fromkeys(lessons)) for name, lessons in shown.items()}


def test_the_appendix_explains_what_the_shown_parts_use():
    text = (twins.RUST / "README.md").read_text(encoding="utf-8")
    for sign in ("///", "#[derive", "impl for<'a> FnOnce", "transmute", "as *const", "from_raw_parts", "&self", "_ =>"):
        assert sign in text, f"{sign} is in a program, and the appendix is silent"
    assert text.index("`'a`, ") < text.index("Cow<'a>"), "used before it is explained"


@needs_rust
def test_the_appendix_compiles(tmp_path: Path):
    """Its examples compile as one program, except for the line that's meant to be refused."""
    text = (twins.RUST / "README.md").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in re.findall(r"```rust\n(.*?)```", text, re.S)]
    refused = [line for block in blocks for line in block if "// refused" in line]
    assert len(refused) == 1
    assert all(len(line) <= 86 for block in blocks for line in block), "a line that a page cannot hold"
    for kept, code in (([], 0), (refused, 1)):
        lines = ["#![allow(dead_code, unused)]", "use std::rc::Rc;", "fn main() {"]
        for block in blocks:
            lines += ["{", *(line for line in block if line not in refused or line in kept), "}"]
        lines[lines.index("match cow {")] = 'let cow = Cow::Owned("x".into()); match cow {'
        (tmp_path / "a.rs").write_text("\n".join([*lines, "}"]))
        command = ["rustc", "--edition", "2021", "--emit=metadata", "-o", str(tmp_path / "a"), str(tmp_path / "a.rs")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert not kept or "E0382" in done.stderr


@needs_rust
def test_programs_compile_without_a_warning(tmp_path: Path):
    for name in TWINS:
        command = ["rustc", "--edition", "2021", "-D", "warnings", "--emit=metadata", "-o", str(tmp_path / name)]
        done = subprocess.run([*command, f"{name}.rs"], cwd=twins.RUST, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
    assert os.listdir(tmp_path)


@needs_rust
@pytest.mark.parametrize("name, theirs", [("copy", "source"), ("swap", "model")])
def test_no_file_of_anybody_s_is_touched(name: str, theirs: str, tmp_path: Path):
    command = ["rustc", "--edition", "2021", "-o", str(tmp_path / name), f"{name}.rs"]
    subprocess.run(command, cwd=twins.RUST, check=True)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / theirs).write_text("mine")
    done = subprocess.run([str(tmp_path / name), str(folder)], capture_output=True, text=True)
    assert done.returncode and "name an empty folder" in done.stderr, done
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(theirs, "mine")]
