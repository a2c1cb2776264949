"""What a teacher gets out of grading, for a class with difficult names: tables, imports, feedback,
report, forget.
"""

import csv
import io
import json
import os
import re
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
import sample_class
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Browser
from tables import each_of
from test_handouts import dense, lone_page, words_of

from helpers.classroom import forget
from helpers.classroom.course import Course, course
from helpers.classroom.grades import grades, of_lesson
from helpers.classroom.outputs import file_name, write_all
from helpers.classroom.report import impersonal, pictures, summary
from helpers.classroom.store import Answer, HandIn, Student, Verdict, store
from helpers.folders import NOTEBOOKS
from helpers.publish import lessons
from helpers.teach import predict
from helpers.teach.exercise_files import keys
from helpers.teach.words import one_line
from helpers.wall import charts, questions

pytestmark = pytest.mark.slow

CLASS = Path(__file__).with_name("sample_class.toml").read_text(encoding="utf-8")
OVERRIDES = Path(__file__).with_name("sample_overrides.toml").read_text(encoding="utf-8")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝")
STUDENTS = 36


def made(folder: Path, students: int, taken: tuple[str, ...] = ("02",)) -> Path:
    """A folder that a class has been graded into, outputs and all."""
    sample_class.write(folder, students, taken)
    (folder / "class.toml").write_text(CLASS, encoding="utf-8")
    (folder / "overrides.toml").write_text(OVERRIDES, encoding="utf-8")
    again(folder)
    return folder


def again(folder: Path, **how: bool) -> list[Path]:
    with store(folder) as known:
        return write_all(known, course(folder), folder, **how)


def small(folder: Path, *answers: Answer, said: Course | None = None) -> list[Answer]:
    """Keeps these, and writes the outputs to `folder`. Returns the grades."""
    with store(folder) as known:
        known.keep(*answers)
        write_all(known, said or Course(), folder)
        return grades(known.all(), said or Course())


def handed_in(
    student: str = "ada", *verdicts: Verdict, lesson: str = "02", name: str = "", **of: object
) -> list[Answer]:
    """A notebook, with these verdicts on its first answers."""
    hand_in = HandIn(**{"lesson": lesson, "file": f"{student}/{lesson}.ipynb", "digest": "d"} | of)
    judged = [*verdicts, *[Verdict()] * 9]
    return [
        Answer(Student(student, name), key, hand_in, of_it)
        for key, of_it in zip(of_lesson(lesson) or [""], judged, strict=False)
    ]


def verdict(outcome: str = "right", **more: object) -> Verdict:
    return Verdict(**{"outcome": outcome, "because": "It is.", "digest": "d"} | more)


RIGHT = [verdict()] * 3  # all of lesson 02


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("class") / "grades", STUDENTS, taken=("02", "03"))


def table(path: Path, **how: str) -> list[dict[str, str]]:
    return list(
        csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""), **how)
    )


# --- grades ---------------------------------------------------------------------------------------
def test_every_exercise_of_what_was_handed_in_has_a_grade(tmp_path: Path):
    said = Course(
        points={"02.chunks": 20.0},
        students={"bob": Student("bob", "Bob")},
        due={"03": datetime(2026, 11, 25).astimezone()},
    )
    found = small(tmp_path, *handed_in("ada", verdict(), verdict("not yet")), said=said)
    assert [
        (one.student.key, one.exercise, one.outcome, one.points, one.most) for one in found
    ] == [
        ("ada", "02.chunks", "right", 20, 20),
        ("ada", "02.hidden", "not yet", 0, 10),
        ("ada", "02.report", "not graded", 0, 10),
        *(("ada", key, "missing", 0, 10) for key in of_lesson("03")),
        *(
            ("bob", key, "missing", 0, said.worth(key))
            for key in (*of_lesson("02"), *of_lesson("03"))
        ),
    ]


def test_the_teacher_has_the_last_word(tmp_path: Path):
    said = {
        ("ada", "02.chunks"): (3.5, "Nearly."),
        ("ada", "02.hidden"): (None, "Good."),
        ("ada", "02.report"): (0.0, ""),
    }
    of = handed_in("ada", verdict("not yet"), verdict(), verdict())
    found = small(tmp_path, *of, said=Course(overrides=said))
    assert [(one.outcome, one.points, one.by_teacher, one.comment) for one in found] == [
        ("not yet", 3.5, True, "Nearly."),
        ("right", 10, False, "Good."),
        ("right", 0, True, ""),
    ]


def test_what_cannot_be_graded_is_not_lost(tmp_path: Path):
    found = small(
        tmp_path,
        *handed_in("ada", verdict(), why_not="the notebook has 300 MB; 50 MB are read"),
        *handed_in("bob", lesson="", why_not="nothing in it tells the lesson"),
        *handed_in("cy", verdict(digest="old"), lesson="03"),
    )
    said = {(one.student.key, one.exercise): (one.outcome, one.verdict.because) for one in found}
    assert said["ada", "02.chunks"] == ("not graded", "the notebook has 300 MB; 50 MB are read")
    assert said["bob", ""] == ("not graded", "nothing in it tells the lesson")
    assert said["cy", "03.window"] == (Verdict().outcome, Verdict().because)
    page = tmp_path / "feedback" / f"{file_name('bob', 'bob')}.html"
    for path in (tmp_path / "gradebook.csv", page):
        assert "nothing in it tells" in path.read_text()


def test_a_store_of_an_older_edition_is_taken_over(tmp_path: Path):
    """It kept students, hand-ins and verdicts apart, some with fewer columns."""
    (wrong,) = answers = handed_in("ada", verdict("not yet"), name="Ada")[:1]
    hand_in = asdict(wrong.hand_in) | {"student": "ada"}
    row = asdict(wrong.verdict) | {"student": "ada", "exercise": "02.chunks"}
    del hand_in["number"], row["half"], row["cell"]
    student = {"key": "ada", "name": "Ada", "number": "of another edition"}
    with closing(sqlite3.connect(tmp_path / "grades.sqlite")) as older:
        for name, one in (("students", student), ("hand_ins", hand_in), ("rows", row)):
            columns = ", ".join(f'"{column}"' for column in one)
            older.execute(f"create table {name} ({columns})")
            values = [*map(json.dumps, one.values())]
            older.execute(f"insert into {name} values ({', '.join('?' * len(one))})", values)
        older.commit()
    for _ in range(2):
        with store(tmp_path) as known:
            assert known.all() == answers
    assert b"of another edition" not in (tmp_path / "grades.sqlite").read_bytes()


IN_TIME, AFTER = "2026-11-25T18:00:00+01:00", "2026-11-25T17:01:00+00:00"


@each_of(
    ("late", "when", "more"),
    ("", IN_TIME, {}),
    ("late", AFTER, {}),
    ("", IN_TIME, {"copied": True}),
    ("unknown", AFTER, {"copied": True}),
    ("unknown", "", {"system": "moodle"}),
    ("", "", {"system": "canvas"}),
    ("late", "", {"system": "canvas", "late": True}),
)
def test_late_is_after_the_due_time_and_what_is_not_known_is_said(
    tmp_path: Path, late: str, when: str, more: dict
):
    said = Course(due={"02": datetime.fromisoformat(IN_TIME)})
    assert {one.late for one in small(tmp_path, *handed_in(when=when, **more), said=said)} == {late}
    text = " ".join(report(tmp_path).main.get_text().split())
    assert "Due: 02 Copy a big file on 25 November 2026, 18:00" in text
    assert ("0, 1 unknown" in text) == (late == "unknown")


# --- tables ---------------------------------------------------------------------------------------
def test_the_gradebook_holds_every_answer(out: Path):
    # or Excel assumes another encoding
    assert (out / "gradebook.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    rows = table(out / "gradebook.csv")
    assert len(rows) == STUDENTS * len([key for key in keys() if key[:2] in ("02", "03")])
    assert {row["name"] for row in rows} >= {
        '\'=HYPERLINK("http://192.0.2.1")',
        "'@everyone",
        "Semikolon;'=1+1",
        "Zeile Umbruch",
        "Tabea",
        "山田 太郎",
        "gnorw Bidimann",
        "\N{REPLACEMENT CHARACTER} Halbpaar",
        "مهدی\u200cرضا",
    }
    with store(out) as known:
        judged = [one for one in known.all() if one.verdict.digest]
    wanted = {(one.student.key, one.exercise): one.outcome for one in judged}
    shown = {(row["student"], row["exercise"]): row["outcome"] for row in rows}
    assert wanted.items() <= shown.items()


@pytest.mark.parametrize("name", ["gradebook.csv", "canvas.csv", "moodle/02.csv"])
def test_no_cell_is_a_formula_whatever_separates_them(out: Path, name: str):
    text = (out / name).read_bytes().decode("utf-8-sig")
    for delimiter in ",;":
        cells = [
            one
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            for one in row
        ]
        assert not [one for one in cells if one.lstrip(' "').startswith(FORMULA)]


def from_moodle(student: str, number: str, *verdicts: Verdict, lesson: str = "02") -> list[Answer]:
    place = f"{student}_{number}_assignsubmission_file"
    return handed_in(student, *verdicts, lesson=lesson, place=place, system="moodle", number=number)


def test_moodle_gets_a_worksheet_and_the_feedback_of_each_lesson(tmp_path: Path):
    """Moodle numbers participants anew in each assignment."""
    two = from_moodle("ada", "7", *RIGHT), from_moodle("bo", "8")
    small(tmp_path, *two[0], *two[1], *from_moodle("ada", "9", lesson="03"))
    rows = table(tmp_path / "moodle" / "02.csv")
    assert {"Identifier", "Grade", "Last modified (grade)", "Feedback comments"} <= rows[0].keys()
    assert [(row["Identifier"], row["Grade"]) for row in rows] == [
        ("Participant 7", "30"),
        ("Participant 8", ""),
    ]
    assert [row["Identifier"] for row in table(tmp_path / "moodle" / "03.csv")] == ["Participant 9"]
    with zipfile.ZipFile(tmp_path / "moodle" / "03-feedback.zip") as archive:
        # as Moodle's mod/assign/feedback/file/importziplib.php splits it
        (name,) = archive.namelist()
        assert re.fullmatch(r"[^/_]*_9_assignsubmission_file_?/03\.html", name)
        page = archive.read(name).decode()
    assert "03 Choose between read and mmap" in page
    assert "02 Copy a big file" not in page


def test_html_in_moodle_s_comments_survives_the_apostrophes(tmp_path: Path):
    wrong = verdict("not yet", because="expected x <= y, got <script>")
    said = Course(overrides={("ada", "02.chunks"): (1, "No.")})
    small(tmp_path, *from_moodle("ada", "7", wrong), said=said)
    comments = table(tmp_path / "moodle" / "02.csv")[0]["Feedback comments"]
    assert "expected x <= y, got <script>. No." in BeautifulSoup(comments, "html.parser").get_text()


def test_canvas_gets_a_column_for_each_lesson(tmp_path: Path):
    of = {"system": "canvas", "name": "Points Possible"}
    small(
        tmp_path,
        *handed_in("ada", *RIGHT, number="12", **of),
        *handed_in("bo", number="anon_x1", **of),
        *handed_in("ada", lesson="03", number="12", **of),
    )
    header, points, *rows = csv.reader(
        io.StringIO((tmp_path / "canvas.csv").read_text(), newline="")
    )
    # Canvas's lib/gradebook_importer.rb: row_has_student_headers?, last_student_info_column,
    # check_for_non_student_row
    assert (header[0], header[1], header[4]) == (
        "Student",
        "ID",
        "Section",
    )
    assert "Points Possible" in points[0]
    assert header[5:] == ["02 Copy a big file", "03 Choose between read and mmap"]
    assert points[5:] == ["30", "30"]
    assert rows == [["Points-Possible", "12", "", "", "", "30", ""]]


def test_an_import_without_students_is_not_written(tmp_path: Path):
    """This file only looks like one of Canvas's."""
    small(tmp_path, *handed_in("Ada", *RIGHT, file="Ada/02_10_final.ipynb", system="plain"))
    assert not [*tmp_path.glob("canvas*"), *tmp_path.glob("moodle*")]


# --- pages ----------------------------------------------------------------------------------------
def test_what_a_student_writes_is_text_on_every_page(out: Path):
    pages = [out / "report.html", *sorted((out / "feedback").iterdir())]
    assert len(pages) == STUDENTS + 1
    for path in pages:
        tree = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        tags = tree.find_all(True)
        assert not [
            tag
            for tag in tags
            if tag.name in ("script", "b", "iframe", "object", "link", "base", "form")
        ]
        assert not [name for tag in tags for name in tag.attrs if name.startswith("on")]
        assert all(image["src"].startswith("data:image/png") for image in tree.find_all("img"))
        assert all(link["href"].startswith("#") for link in tree.find_all("a"))
        assert len(tree.find_all("style")) == 1


def students(out: Path) -> dict[str, str]:
    with store(out) as known:
        return {one.student.key: one.student.name for one in known.all()}


def test_files_have_safe_names_and_lie_in_their_folder(out: Path):
    assert [path.name for path in out.parent.iterdir()] == ["grades"]
    names = [path.name for path in (out / "feedback").iterdir()]
    assert len(names) == STUDENTS
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}-[0-9a-f]{8}\.html", name) for name in names)
    assert sum(name.startswith("zwilling-doppelt-") for name in names) == 2


def test_the_report_names_nobody(out: Path):
    shown = (out / "report.html").read_text(encoding="utf-8")
    words = " ".join(
        [BeautifulSoup(shown, "html.parser").get_text(" "), *re.findall(r'alt="([^"]*)"', shown)]
    )
    for key, name in students(out).items():
        ours = ("script", "alert", "Points", "Possible")
        parts = {part for part in re.findall(r"[^\W_]{5,}", one_line(name)) if part not in ours}
        found = [part for part in (key, *parts) if part in words]
        assert not found, f"{name!r}: {found} in the report"
    assert "example.org" not in words
    assert "assignsubmission" not in words


def test_a_page_says_what_was_found_and_what_to_try(tmp_path: Path):
    said = Course(
        overrides={("ada", "02.hidden"): (4.0, "See **me**.\n\nSoon.")},
        due={"02": datetime.fromisoformat("2026-11-25T18:00:00+01:00")},
    )
    slip = verdict(
        "not yet",
        because="`target` is <b>short</b>",
        cause="too-short",
        figures=("9 MiB anonymous",),
        cell=31,
        code="x = '<b>'",
    )
    half = verdict("not yet", half="the bytes")
    came = {"when": "2026-11-26T08:05:00+01:00", "edition": "2026-10-01 (9d7e380)"}
    of = handed_in("ada", slip, verdict("not yet", cause="raised"), half, name="Ada", **came)
    small(tmp_path, *of, said=said)
    (path,) = (tmp_path / "feedback").iterdir()
    text = " ".join(BeautifulSoup(path.read_text(), "html.parser").main.get_text().split())
    assert "Measured: 9\N{NO-BREAK SPACE}MiB anonymous" in path.read_text()
    for words in (
        "Not yet: target is <b>short</b>",
        "Late · handed in on 26 November 2026, 08:05 · due on 25 November 2026, 18:00",
        "your notebook is from edition 2026-10-01 (9d7e380)",
        "9 of 30 points",
        "4 of 10 points, given by your teacher",
        "See me.",
        "What was judged: cell 31 of your notebook, counted from its top x = '<b>'",
        "The loop ends when n is 0.",  # the hint of 02.chunks that fits the slip
    ):
        assert words in text
    assert "How many must be in memory at once?" not in text  # the other hint
    assert 'exercise("02.report").hint() in your notebook' in text  # no hint fits


def test_an_answer_that_nobody_has_graded_has_no_points_until_the_teacher_gives_some(
    tmp_path: Path,
):
    things = handed_in("ada", verdict(), verdict("not graded", code="x"))
    small(tmp_path, *things)
    assert [row["points"] for row in table(tmp_path / "gradebook.csv")] == ["10", "", ""]
    (path,) = (tmp_path / "feedback").iterdir()
    assert "10 of 30 points, 2 answers still to be decided" in path.read_text()
    given = Course(overrides={("ada", "02.hidden"): (7.0, ""), ("ada", "02.report"): (0.0, "")})
    small(tmp_path, *things, said=given)
    assert [row["points"] for row in table(tmp_path / "gradebook.csv")] == ["10", "7", "0"]
    assert "17 of 30 points<" in path.read_text()
    assert "Not graded" not in path.read_text()
    assert "(02.hidden): 1 half right" in report(tmp_path).find("img")["alt"]


def test_what_was_not_assigned_is_left_out(tmp_path: Path):
    said = Course(
        points={"02.hidden": 0.0, "02.report": 0.0}, overrides={("ada", "02.report"): (2.0, "")}
    )
    small(tmp_path, *handed_in("ada", verdict(), verdict()), said=said)
    assert [row["exercise"] for row in table(tmp_path / "gradebook.csv")] == [
        "02.chunks",
        "02.report",
    ]
    assert "02.hidden" not in (tmp_path / "report.html").read_text()


# --- the summary ----------------------------------------------------------------------------------
def test_the_summary_says_how_many_and_what_needs_the_teacher(tmp_path: Path):
    overrides = {("nobody", "02.report"): (1.0, ""), ("cy", "02.report"): (12.0, "")}
    said = Course(students={"bob": Student("bob", "Bob")}, overrides=overrides)
    ada = verdict(), verdict("not yet", half="the bytes"), verdict("not graded")
    twin, other = "Ada \x1b[31m", "ada [31m"
    several = {"file": "cy/02-1.ipynb", "others": ("cy/02.ipynb", "cy/02 (1).ipynb")}
    small(
        tmp_path,
        *handed_in("1", *ada, name=twin, file="Ada/02\x1b.ipynb", late=True),
        *handed_in("2", file="", name=other),
        *handed_in("cy", *[verdict("not graded")] * 3, **several),
        said=said,
    )
    text = summarised(tmp_path, said)
    assert text.splitlines()[0] == "4 students, 6 answers: 2 right, 1 half right, 3 not graded."
    for need, line in (
        ("Not graded: ", "Ada [31m (1), Ada/02 .ipynb: It is. (02.report)"),
        ("More points than ", "cy, 12 of 10 (02.report)"),
        ("Late by the file's time, ", "Ada [31m (1), Ada/02 .ipynb (02)"),
        (
            "Several notebooks for a lesson, ",
            "cy: cy/02-1.ipynb counts, not cy/02.ipynb, cy/02 (1).ipynb (02)",
        ),
        ("Students of one name: ", "Ada [31m (1), ada [31m (2)"),
        ("Not handed in: ", "Bob (bob) (02)"),
        ("Overrides for nobody: ", "overrides.toml: there is no student 'nobody', so the"),
    ):
        (part,) = [part for part in text.split("\n\n") if part.startswith(need)]
        assert f"\n  {line}" in part


def test_a_long_summary_is_cut_and_a_good_one_is_short(tmp_path: Path):
    lost = [one for n in range(25) for one in handed_in(f"s{n:02}", why_not="it is not JSON")]
    small(tmp_path, *lost)
    text = summarised(tmp_path, Course())
    assert "it is not JSON (02.chunks, 02.hidden, 02.report)" in text
    assert "… and 5 more, in gradebook.csv." in text
    small(tmp_path / "well", *handed_in("ada", *RIGHT))
    assert "\nNothing needs you. The results are in " in summarised(tmp_path / "well", Course())


def test_five_hundred_notebooks_of_one_student_are_one_short_line(tmp_path: Path):
    others = tuple(f"ada/02 ({number}) {'long' * 50}.ipynb" for number in range(500))
    small(tmp_path, *handed_in(others=others))
    (line,) = [
        line for line in summarised(tmp_path, Course()).splitlines() if "counts, not" in line
    ]
    assert line.startswith("  ada: ada/02.ipynb counts, not ada/02 (0)")
    assert len(line) < 500


def summarised(out: Path, said: Course) -> str:
    with store(out) as known:
        return summary(known, said, write_all(known, said, out))


# --- the report -----------------------------------------------------------------------------------
def report(folder: Path) -> BeautifulSoup:
    return BeautifulSoup((folder / "report.html").read_text(encoding="utf-8"), "html.parser")


def test_the_report_counts_outcomes_and_mistakes(tmp_path: Path):
    things = handed_in("s9", why_not="no cells")
    causes = ["too-short"] * 3 + ["runs-nothing"] + ["raised"] * 2 + [""] * 3
    for n, cause in enumerate(causes):
        because = f"`target` {n}"
        if cause == "raised":
            because = f"it raised OSError: I am number {n}, in line 2: `x = {n}`"
        half = "the bytes" * (cause == "raised")
        outcome = "not yet" if cause else "right"
        of = verdict(outcome, because=because, cause=cause, seconds=2, half=half)
        things += handed_in(f"s{n}", of)
    small(tmp_path, *things, said=Course(students={"absent": Student("absent", "Absent")}))
    page = report(tmp_path)
    assert "3 right, 2 half right, 4 not yet, 1 not graded, 1 missing" in page.find("img")["alt"]
    found = [
        " ".join(item.get_text().split()) for item in page.select(".mistakes")[0].find_all("li")
    ]
    assert found == [
        "too short · 3 (50 %) target 0",
        "stopped with an error · 2 (33 %) It raised OSError: …",
        "runs nothing · 1 (17 %) target 3",
    ]
    assert (
        page.select(".mistakes .example")[2].decode()
        == '<p class="example"><code>target</code> 3</p>'
    )
    text = " ".join(page.main.get_text().split())
    assert "6 answers aren't right yet, 2 of them half right:" in text


def test_the_report_shows_the_votes_that_a_class_has_kept(tmp_path: Path):
    asked = {
        "question": "How many?",
        "kind": "number",
        "unit": "MiB",
        "names": [""],
        "measured": 64,
    }
    kept = [{"key": "02.x", "asked": asked, "again": True, "votes": [[1.0, 64.0]] * 6}]
    (tmp_path / "wall").mkdir()
    (tmp_path / "wall" / "2026-11-27-02.json").write_text(json.dumps(kept))
    small(tmp_path, *handed_in("ada", verdict()))
    page = report(tmp_path)
    assert "What the class voted" in page.main.get_text()
    assert "How many? (02.x, 2026-11-27)" in page.main.get_text()
    alts = " ".join(one["alt"] for one in page.find_all("img"))
    assert "6 predictions, median 1, " in alts
    assert "then 64; measured 64" in alts


def test_votes_stand_in_the_lessons_order_the_newest_class_first_and_beside_other_lessons(
    tmp_path: Path,
):
    """The wall wrote them into the folder of another lesson, which was graded into, too."""
    choices = [one.key for one in questions.lesson("01").questions if one.kind == "choice"]

    def kept(folder: Path, name: str, keys: list[str]) -> None:
        (folder / "wall").mkdir(parents=True, exist_ok=True)
        asked = {"question": "?", "kind": "choice", "names": ["a", "b"], "measured": "a"}
        of = [
            {"key": key, "asked": asked, "again": True, "votes": [["b", "a"]] * 5} for key in keys
        ]
        (folder / "wall" / f"{name}.json").write_text(json.dumps(of))

    here = tmp_path / "course" / "01"
    beside = tmp_path / "course" / "04"
    kept(here, "2025-11-27-01", sorted(choices, reverse=True))
    kept(beside, "2026-11-27-01-04", choices[-1:])
    kept(tmp_path / "course" / "no grades", "2026-11-28-01", choices)
    (beside / "class.toml").write_text("")
    small(here, *handed_in(lesson="01"))
    page = report(here)
    days = [
        [" ".join(line.get_text().split()) for line in one.select("li")]
        for one in page.select(".classes")
    ]
    right = "Right: 0 % of 5, then 100 % of 5."
    one = [f"2025-11-27: {right}"]
    both = [f"2026-11-27: {right}", f"2025-11-27: {right}Their votes? ({choices[-1]}, 2025-11-27)"]
    assert days == [*[one] * (len(choices) - 1), both]
    shown = [
        re.search(r"\((\S+),", one.get_text())[1]
        for one in page.select("figcaption")
        if "2025" in one.get_text()
    ]
    assert shown == choices
    assert len(choices) > 1


def test_the_report_says_what_had_no_sandbox(tmp_path: Path):
    fenced = verdict(seconds=1)
    small(tmp_path, *handed_in("ada", fenced, replace(fenced, trusted=True)))
    assert "1 answer was graded without a sandbox." in report(tmp_path).main.get_text()
    again(tmp_path, trusted=True)
    text = report(tmp_path).main.get_text()
    assert "Graded without a sandbox." in text
    assert "in its own sandbox" not in text
    small(tmp_path, *handed_in("ada", fenced, fenced))
    text = report(tmp_path).main.get_text()
    assert "without a sandbox" not in text
    assert "in its own sandbox" in text


@pytest.mark.parametrize(
    "said, shown",
    [
        ("it raised ValueError: I am Ada, in line 3: `ada = 1`", "it raised ValueError: …"),
        ("`target` is gone, Ada Lovelace", "`target` is gone, …"),
        ("121,048,576 bytes of 20 MiB; call 0301234567", "121,048,576 bytes of 20 MiB; call …"),
        ("`/srv/lovelace` is a pipe", "`/…` is a pipe"),
        (
            (
                "its process ended (SIGSEGV), in your function or while the check looked at what "
                "it returned."
            ),
        )
        * 2,
    ],
)
def test_an_example_is_impersonal(said: str, shown: str):
    assert impersonal(said, "02.chunks") == shown


def given(key: str, answers: list) -> list[HandIn]:
    return [HandIn(key[:2], "f", predictions={key: one}) for one in answers]


def question(**more) -> questions.Lesson:
    asked = questions.Question("42.x", "How `many`?", **more)
    return questions.Lesson("42", "42", (asked,))


def test_the_axis_holds_everybody():
    """What may be answered at most is its end, from the first picture on; without that, a bar holds
    what is larger.
    """
    few = question(unit="%", most=100.0)
    many = question(unit="MiB")
    ends = []
    for measured in (None, 93.0):
        asked = replace(few.questions[0], measured=measured)
        shown = charts.chart(asked, [5.0] * 17 + [90.0] * 6 + [100.0] * 7)
        ends.append(shown.rows[0].cells[0].ends)
    assert ends[0] == ends[1]
    assert ends[0][1] > 100
    (shown,), _ = pictures(many, given("42.x", [1, 1, 1, 2, 2, 2, 3, 1000, 2000]))
    hills, scale = (row.cells[0] for row in shown.rows)
    assert "; 2 over 3" in shown.alt
    assert [*scale.ticks.values()][-1] == "over 3"
    assert hills.edges[-2] < [*scale.ticks][-1] < hills.edges[-1]
    assert [*hills.counts[0][0]][-1] == 2


def test_numbers_that_were_predicted_are_a_spread():
    answers = [1, 2, 3, 4, 400, 10**400, "seven", None, -1, True, float("nan"), {"x": 3}]
    (shown,), _ = pictures(question(unit="MiB", measured=12.0), given("42.x", answers))
    assert (
        "6 predictions, median 3.5, half of them from 2.25 to 301; measured 12; 2 over 96."
        in shown.alt
    )
    assert shown.caption == "How many? (42.x)"


def test_less_than_a_mebibyte_is_in_kibibytes():
    (shown,), _ = pictures(question(unit="MiB", measured=944 / 1024), given("42.x", [0.25] * 5))
    assert shown.rows[0].cells[0].text == "median 256 KiB\nmeasured 944 KiB"


def test_fewer_than_five_answers_are_not_drawn():
    for asked, answer in ((question(), 1), (question(kind="choice", names=("a", "b")), "a")):
        drawn, too_few = pictures(asked, given("42.x", [answer] * 4))
        assert (drawn, too_few) == ([], ["“How many?” (4)"])
        assert len(pictures(asked, given("42.x", [answer] * 5))[0]) == 1


ZEROS = {"kind": "choice", "names": ("zeros", "an error"), "measured": "zeros"}
ORDER = {"kind": "order", "names": ("a", "b"), "measured": ["b", "a"]}
# the first click counts
CLICKS = {"kind": "quiz", "names": ("(a) The disk", "(b) The kernel"), "measured": "b"}


@pytest.mark.parametrize(
    "asked, answers, told",
    [
        (
            ZEROS,
            ["zeros"] * 4 + ["Ada"] * 2 + [3],
            "6. zeros: 4, an error: 0, something else: 2. Measured: zeros.",
        ),
        (
            {"kind": "choice"},
            ["1 MiB"] * 5 + ["Ada"] * 4,
            "Predicted by 9. 1 MiB: 5, something else: 4.",
        ),
        (
            {"kind": "numbers", "names": ("read",)},
            [{"read": 1, "Ada": 2}] * 5,
            "read: 5 predictions",
        ),
        (
            ORDER,
            [["a", "b"]] * 5 + [["b", "a"], ["a"], "a, b"],
            "by 6. a, b: 5, b, a: 1. Measured: b, a.",
        ),
        (
            CLICKS,
            ["ab", "ab", "b", "a", "ba", "z", "", 3, ["a"]],
            "5. (a) The disk: 3, (b) The kernel: 2. Right: (b)",
        ),
    ],
)
def test_answers_are_counted_and_what_a_lesson_does_not_offer_is_not_shown(
    asked: dict, answers: list, told: str
):
    (shown,), _ = pictures(question(**asked), given("42.x", answers))
    assert told in shown.alt
    assert "Ada" not in shown.alt


def test_every_question_of_every_lesson_is_found():
    for path in lessons():
        source = "".join(
            one.source for one in nbformat.read(path, 4).cells if one.cell_type == "code"
        )
        asked = questions.lesson(path.name[:2]).questions
        assert len(asked) == len(re.findall(r"\b(?:predict|quiz)\(", source))
        assert all(one.key.startswith(path.name[:2]) and len(one.text) > 5 for one in asked)


def test_what_a_lesson_measured_is_read_from_its_run(tmp_path: Path):
    three = predict("02.three", "?", each=["slurp", "async chunks", "mmap"], unit="MiB")
    choice = predict("02.chunk", "?", choices=["a", "b"])
    beside = three.beside({"slurp": 2**28, "async chunks": None, "mmap": 0}), choice.beside("a")
    outputs = [
        new_output("display_data", {"text/html": one.html, "text/plain": one.text})
        for one in beside
    ]
    nbformat.write(
        new_notebook(cells=[new_code_cell("", outputs=outputs)]),
        tmp_path / "02_copy_a_big_file.ipynb",
    )
    asked = {one.key: one for one in questions.lesson("02", NOTEBOOKS, tmp_path).questions}
    assert asked["02.three"].measured == {"slurp": 256, "mmap": 0}
    assert asked["02.chunk"].measured == "a"
    assert not asked["02.three"].recorded
    assert asked["02.order"].recorded
    assert asked["02.order"].measured[0] == "sendfile"  # from another machine


# --- the files ------------------------------------------------------------------------------------
def contents(folder: Path) -> dict[str, bytes]:
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".sqlite", ".toml")
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_same_store_gives_the_same_bytes(out: Path, tmp_path: Path):
    with store(out) as known, store(tmp_path) as copy:
        copy.keep(*reversed(known.all()))
        write_all(copy, course(out), tmp_path)
    assert contents(tmp_path) == contents(out)


def test_what_has_not_changed_is_not_written_again(out: Path):
    written = {path: path.stat().st_mtime_ns for path in again(out)}
    assert {path: path.stat().st_mtime_ns for path in again(out)} == written


def test_an_old_page_goes_when_all_that_is_new_is_there(tmp_path: Path):
    out = made(tmp_path / "grades", 12)
    before = contents(out)
    with store(out) as known:
        known.forget("910000011")
    (out / "report.html").unlink()
    (out / "report.html").mkdir()  # it can't be written
    with pytest.raises(IsADirectoryError):
        again(out)
    assert contents(out).keys() == before.keys() - {"report.html"}
    (out / "report.html").rmdir()
    again(out)
    gone = f"feedback/{file_name(sample_class.NAMES[11], '910000011')}.html"
    assert contents(out).keys() == before.keys() - {gone}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_folder_is_its_owner_s_alone(tmp_path: Path):
    small(tmp_path / "grades", *handed_in())
    assert (tmp_path / "grades").stat().st_mode & 0o077 == 0


# --- forget ---------------------------------------------------------------------------------------
def test_a_student_is_forgotten_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture):
    out = made(tmp_path / "grades", 24)
    table = "id,name\n910000021,Vorname21 Nachname21\n910000022,Ada\n"
    (out / "students.csv").write_text(table)
    with store(out) as known:
        before = known.all()
    with pytest.raises(SystemExit) as refused:
        forget.main(["910000021", "--out", str(out)])
    for name in ("overrides.toml", "students.csv"):
        lines = (out / name).read_text().splitlines()
        (number,) = [n for n, line in enumerate(lines, 1) if "910000021" in line]
        assert f"{name}, line {number}: {lines[number - 1]}" in str(refused.value)
        (out / name).write_text("\n".join(line for line in lines if "910000021" not in line))
    with store(out) as known:
        assert known.all() == before
    (out / "overrides.toml").write_text("")
    forget.main(["910000021", "--out", str(out)])
    said = capsys.readouterr().out
    assert "910000021 (Vorname21 Nachname21)" in said
    assert "feedback/vorname21-nachname21-" in said
    assert "Vorname21 Nachname21_910000021_assignsubmission_file/02_1.ipynb" in said
    for path in out.rglob("*"):
        if path.is_file():
            assert b"910000021" not in unpacked(path), path
            assert b"Nachname21" not in unpacked(path), path


def unpacked(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join([name.encode() + archive.read(name) for name in archive.namelist()])


def test_who_cannot_be_forgotten_is_said_and_all_stays(tmp_path: Path):
    out = tmp_path / "grades"
    small(out, *handed_in("1"))
    with pytest.raises(
        SystemExit,
        match=r"there is no data on '2'; the first column of gradebook\.csv has the keys",
    ):
        forget.main(["2", "--out", str(out)])
    with store(out), pytest.raises(SystemExit, match="in use by another grader"):
        forget.main(["1", "--out", str(out)])
    assert "1" in students(out)
    with pytest.raises(SystemExit, match=r"holds no grades\.sqlite"):
        forget.main(["ada", "--out", str(tmp_path)])
    assert [*tmp_path.iterdir()] == [out]


# --- in a browser ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["report.html", "feedback/vorname21-*", "feedback/maximiliana-*"])
def test_a_page_is_accessible_and_fits_a_phone_and_paper(browser: Browser, out: Path, name: str):
    """It loads nothing from elsewhere, and runs no script."""
    (path,) = out.glob(name)
    with lone_page(browser) as page:
        page.goto(path.as_uri())
        assert [url for url in page.requests if not url.startswith("data:")] == [path.as_uri()]
        assert not page.complaints
        axe = Axe().run(page)
        assert axe.violations_count == 0, axe.generate_report()
        for width in (375, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        printed = dense("".join(words_of(page.pdf())))
        assert all(
            dense(heading) in printed for heading in page.locator("h1, h2").all_inner_texts()
        )
