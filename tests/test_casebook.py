"""The casebook: its form, what it asserts, and what a student sees of it."""

import re
import shutil
from importlib.util import find_spec
from itertools import chain

import pytest
from bs4 import BeautifulSoup
from IPython.utils.capture import capture_output

from helpers.casebook import case, cases, files, hints
from helpers.casebook.files import CASES
from helpers.casebook.run import as_recorded, holds, run
from helpers.folders import EXERCISES, TEACHER
from helpers.measure import Comparison
from helpers.measure import run as running
from helpers.publish.casebook import casebook_page
from helpers.publish.lesson import filled
from helpers.teach.exercise_files import Malformed

ALL = {folder.name: files.read(folder) for folder in files.folders()}
RUN = [name for name, one in ALL.items() if not one.not_run]
HERE = [name for name in RUN if all(map(find_spec, ALL[name].libraries))]


@pytest.mark.stamped(part="cases")
@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_broken_and_cured_are_told_apart(name: str):
    told_apart(ALL[name], run(ALL[name]))


@pytest.mark.parametrize("name", RUN)
def test_what_is_recorded_tells_them_apart_too(name: str):
    told_apart(ALL[name], as_recorded(ALL[name]))


@pytest.mark.parametrize("name", RUN)
def test_only_a_broken_run_looks_like_a_case(name: str):
    runs, one = as_recorded(ALL[name]), ALL[name]
    broken, cured = (
        [each.name for each in hints.looks_like(runs[kind], path.read_text(encoding="utf-8"))]
        for kind, path in one.programs.items()
    )
    # some cures are an exception
    assert runs["cured"].ended == "raised" or not cured
    if one.looks:
        assert broken == [name]
    else:
        assert (hints.says(one, runs["broken"]) > 0) == (name in broken)


def test_the_longest_message_comes_first():
    named = [one.name for one in hints.looks_like(as_recorded(ALL["file-is-locked"])["broken"])]
    assert named[0] == "file-is-locked"
    assert "no-more-processes" not in named[:1]


def test_a_run_that_is_done_again_has_an_empty_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_seen", lambda run, missed: (run(), run())[1])
    case = ALL["each-layer-is-a-copy"]
    assert all(held for _, held in holds(case, run(case)))


def test_measure_names_the_case(shell):
    shell.run_cell("%load_ext helpers\nimport mmap\nimport numpy as np")
    with capture_output() as said:
        shell.run_cell("%%measure\nm = mmap.mmap(-1, 9)\nx = np.frombuffer(m, 'u1')\nm.close()")
    assert 'Looks like case("cannot-close-exported")' in said.stdout
    shell.run_cell("def grow(rows):\n    x = np.zeros((3, 3))\n    rows = [1]\n    x[rows][0] = 1")
    with capture_output() as said:
        shell.run_cell("%measure grow(2)")
    assert 'Looks like case("assigned-into-a-copy")' in said.stdout


@pytest.mark.parametrize("lost", ["case.md", "broken.py"])
def test_with_a_malformed_case_only_the_hint_is_lost(shell, tmp_path, monkeypatch, lost: str):
    folder = _copied(tmp_path)
    (folder / lost).unlink()
    monkeypatch.setattr(hints, "book", lambda: [files.read(folder)])
    shell.run_cell("%load_ext helpers")
    with capture_output() as said:
        assert shell.run_cell("%measure 6 * 7").result == 42
    assert "Looks like" not in said.stdout


def told_apart(one: files.Case, runs: Comparison) -> None:
    assert all(held for _, held in holds(one, runs)), (
        holds(one, runs),
        runs["broken"],
        runs["cured"],
    )
    exchanged = Comparison({"broken": runs.runs["cured"], "cured": runs.runs["broken"]})
    assert not all(held for _, held in holds(one, exchanged))


def test_every_case_is_in_the_form_and_every_family_has_one():
    assert {family for one in ALL.values() for family in one.see} == files.families().keys()


@pytest.mark.parametrize("family", files.families())
def test_a_family_asks_at_most_three_questions_and_lists_at_most_nine_cases(family: str):
    asked = files.families()[family]
    leaves = files.leaves(asked)
    placed = {*chain(*leaves)}
    others = [name for name, one in ALL.items() if family in one.see and name not in placed]
    assert max(map(len, [*leaves, others])) <= 9
    assert repr(asked).count("'ask':") <= 3
    assert placed <= ALL.keys()


def test_a_minute_leads_from_each_line_to_a_few_cases():
    text = (CASES / "minute.md").read_text(encoding="utf-8")
    for command in text.split("\n## ")[1:]:
        printed = "".join(re.findall(r"```\n(.*?)```", command, re.DOTALL))
        for line in re.findall(r"(?m)^- (.*)", command):
            assert 1 <= line.count("](#") <= 4, line
            begins = re.match(r"`([^`]+)`", line)
            assert not begins or begins[1] in printed, line


def test_the_page_is_small_closed_and_says_what_is_drawn():
    page = casebook_page(ALL.values(), [])
    html = filled("casebook.html.j2", page="casebook.html", edition="student", **page)
    assert len(html.encode()) <= 800_000, "it's for phones and mails"
    tree = BeautifulSoup(html, "html.parser")
    assert len(tree.select(".case:not(:has(details[open])) small")) == 2 * len(ALL)
    assert not tree.select("img")
    drawn = tree.select(".taken svg")
    assert len(drawn) > 60
    assert all("at its peak" in one.parent.get_text() and one.select("path") for one in drawn)


def test_the_table_names_every_case_and_nothing_names_another():
    link = re.compile(r"\]\((?:\.\./cases/)?([^()/]+)/case\.md\)|\bcase\(\"(.+?)\"\)")
    paths = [CASES / "causes.md", TEACHER / "reports.md", *EXERCISES.glob("*/*/solution.py")]
    named = {
        path: {"".join(found) for found in link.findall(path.read_text(encoding="utf-8"))}
        for path in paths
    }
    assert named[paths[0]] == set(ALL)
    assert all(map(named.get, paths[:2]))
    assert not [(path, names - set(ALL)) for path, names in named.items() if names - set(ALL)]


BAD = {
    "no front matter": ("+++\ntitle", "title", "case.md, line 1: begin with a line '[+]{3}'"),
    "no TOML": ('see = ["refused", ', "see = [refused, ", "case.md, line 3: not TOML"),
    "another key": (
        "lessons =",
        "lesson =",
        "case.md, line 6: lesson: no such key; there are: title",
    ),
    "another type": (
        'lessons = ["07", "10"]',
        'lessons = "07"',
        "case.md, line 6: lessons: wanted: a list",
    ),
    "no strings": (
        'lessons = ["07", "10"]',
        "lessons = [7, 10]",
        "case.md, line 6: lessons: wanted: a list of strings",
    ),
    "no reports": ("[reports]", "[asserts2]", "no such key"),
    "no costs": (
        "lessons =",
        'looks = {text = "mmap"}\nlessons =',
        "case.md, line 6: looks: wanted: text and costs",
    ),
    "no pattern": (
        "lessons =",
        'looks = {text = "(", costs = "peak"}\nlessons =',
        r"case.md, line 6: looks: '\(' is no pattern",
    ),
    "another family": (
        'see = ["refused"',
        'see = ["denied"',
        "case.md, line 3: see: 'denied' is no family",
    ),
    "no expression": (
        "cured.ended ==",
        "cured.ended =",
        "case.md, line 7: asserts: .* is no expression",
    ),
    "another heading": ("## Look", "## Watch", "case.md, line 16: write under these headings"),
    "no such neighbour": (
        "- `ValueError",
        "- [x](#no-such) `ValueError",
        "there is no case 'no-such'",
    ),
}


@pytest.mark.parametrize("old, new, says", BAD.values(), ids=BAD)
def test_a_malformed_case_says_where_and_what_would_be_right(
    tmp_path, old: str, new: str, says: str
):
    folder = _copied(tmp_path)
    text = (folder / "case.md").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / "case.md").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(Malformed, match=says):
        files.read(folder)


@pytest.mark.parametrize(
    "text, says", [("x = 1\n" * 26, "line 26: 26 lines; at most 25"), ("\nx =", "line 2: not Py")]
)
def test_a_program_is_short_and_python(tmp_path, text: str, says: str):
    folder = _copied(tmp_path)
    (folder / "cured.py").write_text(text)
    with pytest.raises(Malformed, match=f"cured.py, {says}"):
        files.read(folder)


def _copied(tmp_path):
    shutil.copy(CASES / "families.toml", tmp_path)
    shutil.copytree(CASES / "cannot-close-exported", tmp_path / "x")
    return tmp_path / "x"


def test_cases_lists_those_with_all_the_words_and_what_comes_nearest():
    found = cases("exported pointers")
    assert found.caption.startswith("1 with all")
    assert len(found.rows) == 5
    assert found.rows[0][2] == 'case("cannot-close-exported")'
    assert cases("qqq").rows == []
    assert cases("qqq").caption.startswith("No case has any of these words. ")
    assert len(set(repr(cases()).split("case(")[1:])) >= len(ALL)
    killed = cases("killed")
    assert len(killed.rows) == len({row[2] for row in killed.rows}) > 20, "each once"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("my npz is slow", "npz-ignores-mmap-mode"),
        ("slice keeps the whole array", "rows-keep-the-file"),
        ("del df does not free memory", "del-frees-nothing-in-notebook"),
        ("df.values read only", "frame-values-are-read-only"),
        ("docker exit code 137", "killed-for-its-own-memory"),
        ("celery doesn't release memory after a task", "freed-and-not-returned"),
        ("DataLoader uses more memory with num_workers", "fork-copies-objects"),
        ("HDF reader is very slow", "a-chunk-for-each-row"),
        ("df is full and du finds less", "deleted-and-still-there"),
        ("vmmem takes all memory", "virtual-machine-keeps-cache"),
    ],
)
def test_a_question_in_one_s_own_words_finds_its_case(asked: str, name: str):
    assert f'case("{name}")' in [row[2] for row in cases(asked).rows]


@pytest.mark.slow
def test_case_shows_its_text_and_both_programs_measured(capsys):
    case("cannot-close-exported")
    said = capsys.readouterr().out
    assert "Markdown" in said
    assert "✓" in said
    assert "✗" not in said
    with pytest.raises(ValueError, match="rows-keep-the-file"):
        case("rows-keep-the-files")
