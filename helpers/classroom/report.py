"""What a teacher reads about a class: the report, which names nobody, and what `make grade` says in
the end.
"""

import ast
import builtins
import json
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .. import folders
from ..show.figure import Picture
from ..teach.words import one_line, plain, short
from ..units import in_words
from ..wall.ballots import FOLDER
from ..wall.charts import OUTCOMES, chart, outcomes
from ..wall.questions import Lesson, lesson, question
from ..wall.spread import MIN_ANSWERS, share
from .course import CLASS, Course
from .grades import HandIns, hand_ins, moment
from .grades import grades as graded
from .pages import exercise_title, number, page, text
from .reading import for_one
from .store import Answer, HandIn, Store, Student

MOST_MISTAKES = 6  # for each exercise
HELPERS = folders.ROOT / "helpers"
OURS = (*HELPERS.glob("teach/*.py"), *HELPERS.glob("classroom/*.py"), HELPERS / "units.py")
TOKEN = re.compile(r"\w+|[^\w\s]")
LEFT_OUT = "…"
# causes that need more words
IN_WORDS = {"raised": "stopped with an error", "not-python": "not valid Python"}
NO_TIME = {
    "moodle": "Moodle's download has no times: look at “Last modified” in its list of submissions",
    "nbgrader": "there is no timestamp.txt, or none that can be read",
    "plain": "the times in a zip have no zone: grade the folder that was packed",
}
HANDED_IN = [kind.word for kind in OUTCOMES if kind.word != "missing"]


def report(
    grades: Sequence[Answer],
    handed_in: HandIns,
    course: Course,
    folder: Path,
    *,
    trusted: bool,
) -> str:
    """The page for the class with these grades and hand-ins, and with the votes that the wall has
    kept in `folder`; `trusted` if it was graded without a sandbox.
    """
    names = sorted({grade.lesson for grade in grades if grade.exercise})
    judged = [grade for grade in grades if grade.outcome in ("right", "not yet")]
    seconds = [grade.verdict.seconds for grade in grades if grade.verdict.seconds]
    return page(
        "report.html.j2",
        "Class report",
        course,
        students=len({grade.student.key for grade in grades}),
        hand_ins=len(handed_in),
        answers=len(judged),
        lessons=[
            _lesson(name, [one for one in grades if one.lesson == name], handed_in, course, folder)
            for name in names
        ],
        least=MIN_ANSWERS,
        without_sandbox=len(judged) if trusted else sum(grade.verdict.trusted for grade in judged),
        took=in_words(round(sum(seconds)), "seconds") if seconds else "",
        given=sum(grade.by_teacher for grade in grades),
    )


def _lesson(
    name: str, grades: Sequence[Answer], hand_ins: HandIns, course: Course, folder: Path
) -> dict[str, object]:
    by_student = [list(answers) for _, answers in groupby(grades, lambda grade: grade.student.key)]
    by_exercise: dict[str, list[Answer]] = defaultdict(list)
    for grade in grades:
        by_exercise[grade.exercise].append(grade)
    handed_in = [answers for answers in by_student if answers[0].outcome != "missing"]
    settled = [answers for answers in handed_in if all(grade.is_settled for grade in answers)]
    titles = {key: exercise_title(key) for key in by_exercise}
    counts = {
        f"{titles[key]} ({key})": Counter(one.standing for one in by_exercise[key])
        for key in titles
    }
    drawn, too_few = pictures(lesson(name), hand_ins.values())
    return {
        "title": lesson(name).title,
        "handed_in": len(handed_in),
        "late": Counter(answers[0].late for answers in handed_in),
        "due": course.due.get(name),
        "missing": len(by_student) - len(handed_in),
        "not_graded": len(handed_in) - len(settled),
        "median": (
            number(median(sum(grade.points for grade in answers) for answers in settled))
            if settled
            else "–"
        ),
        "most": number(sum(answers[0].most for answers in by_exercise.values())),
        "figure": outcomes(counts)._repr_html_(),
        "exercises": [
            (key, titles[key], of, mistakes(of)[:MOST_MISTAKES]) for key, of in by_exercise.items()
        ],
        "predictions": [picture._repr_html_() for picture in drawn],
        "recorded": any(asked.recorded for asked in lesson(name).questions),
        "votes": votes(name, folder),
        "too_few": ", ".join(too_few),
    }


def pictures(asked: Lesson, hand_ins: Iterable[HandIn]) -> tuple[list[Picture], list[str]]:
    """The pictures of a lesson's questions, in their order; and the questions with too few answers
    for a picture, or with one that can't be drawn.
    """
    given = [hand_in.predictions for hand_in in hand_ins if hand_in.lesson == asked.number]
    drawn = []
    too_few = []
    for one in asked.questions:
        answers = [predicted[one.key] for predicted in given if one.key in predicted]
        shown = None
        with for_one() as reasons:
            shown = chart(one, answers, caption=f"{plain(one.text)} ({one.key})")
        if shown:
            drawn.append(shown)
        elif answers:
            too_few.append(f"“{plain(one.text)}” ({', '.join([str(len(answers)), *reasons])})")
    return drawn, too_few


class Votes(NamedTuple):
    """What a class has voted on a question."""

    day: str
    picture: Picture
    share: str  # how many were right


def votes(number: str, folder: Path) -> list[list[Votes]]:
    """The votes on a lesson's questions that were kept in `folder`, or in one beside it that was
    graded into: a list for each question, in the lesson's order, with the newest class first.
    """
    drawn: dict[str, list[Votes]] = {asked.key: [] for asked in lesson(number).questions}
    beside = (path.parent / FOLDER for path in folder.resolve().parent.glob(f"*/{CLASS}"))
    found = {path for one in (folder.resolve() / FOLDER, *beside) for path in one.glob("*.json")}
    for path in sorted(found, key=lambda path: path.name, reverse=True):
        for kept in json.loads(path.read_text(encoding="utf-8")):
            if kept["key"].startswith(number):
                asked = question(kept["key"], kept["asked"])
                both = [*zip(*kept["votes"], strict=True)][: 2 if kept["again"] else 1]
                day = path.stem[:10]
                caption = f"{plain(asked.text)} ({asked.key}, {day})"
                with for_one():
                    if shown := chart(asked, *both, caption=caption):
                        drawn.setdefault(asked.key, []).append(
                            Votes(day, shown, share(asked, *both))
                        )
    return [*filter(None, drawn.values())]


def mistakes(grades: Iterable[Answer]) -> list[tuple[str, int, str]]:
    """Of answers to one exercise: each mistake in words, how often, and what the check said once;
    commonest first.
    """
    by_cause: dict[str, Counter[str]] = defaultdict(Counter)
    for grade in grades:
        if grade.outcome == "not yet":
            by_cause[grade.verdict.cause][impersonal(grade.verdict.because, grade.exercise)] += 1
    return [
        (
            IN_WORDS.get(cause, cause.replace("-", " ")) or "no cause given",
            said.total(),
            said.most_common(1)[0][0],
        )
        for cause, said in sorted(by_cause.items(), key=lambda item: (-item[1].total(), item[0]))
    ]


def impersonal(words: str, exercise: str = "") -> str:
    """`words` without an error's message and the line of code after it. Elsewhere it keeps words
    from our own sentences or the exercise, Python's own names, and numbers of up to five digits;
    everything else becomes "…".
    """

    def shown(token: re.Match[str]) -> str:
        return (
            token[0]
            if token[0] in _our_words(exercise) or re.fullmatch("[0-9]{1,5}", token[0])
            else LEFT_OUT
        )

    words = re.sub(r"\b(raised \w+): .*", rf"\1: {LEFT_OUT}", " ".join(words.split()))
    return short(re.sub(rf"{LEFT_OUT}(\W*{LEFT_OUT})+", LEFT_OUT, TOKEN.sub(shown, words)), 300)


@cache
def _our_words(exercise: str) -> frozenset[str]:
    texts = [
        *dir(builtins),
        *signal.Signals.__members__,
        LEFT_OUT,
        *chain.from_iterable(map(_strings, OURS)),
    ]
    folder = folders.EXERCISES.joinpath(*exercise.split("."))
    if exercise and folder.exists():
        texts += _strings(folder / "check.py")
        texts += [
            (folder / name).read_text(encoding="utf-8") for name in ("prompt.md", "starter.py")
        ]
    return frozenset(TOKEN.findall(" ".join(texts)))


@cache
def _strings(file: Path) -> list[str]:
    """The strings in a module, without its docstrings, which may have names in their examples."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (
        node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings
    )
    return [node.value for node in constants if isinstance(node.value, str)]


def summary(records: Store, course: Course, written: Sequence[Path]) -> str:
    """Text for a terminal. `written`: the files for the teacher; the first lies in the folder that
    holds them all.
    """
    answers = records.all()
    folder = written[0].parent
    grades = graded(answers, course)
    counts = Counter(grade.standing for grade in grades if grade.exercise)
    lines: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for need, line, of in needs(grades, hand_ins(answers), course):
        lines[need][one_line(line)][of] = None
    return text(
        "graded.txt.j2",
        students=len({grade.student for grade in grades}),
        answers=sum(counts[outcome] for outcome in HANDED_IN),
        counts=[f"{counts[outcome]} {outcome}" for outcome in HANDED_IN if counts[outcome]],
        needs=lines,
        folder=folder,
        files=dict.fromkeys(path.relative_to(folder).parts[0] for path in written),
    ).rstrip()


def needs(
    grades: Sequence[Answer], handed_in: HandIns, course: Course
) -> Iterator[tuple[str, str, str]]:
    """What needs the teacher: the need's name in the template, a line, and the exercise or the
    lesson it's about.
    """
    names: dict[str, set[Student]] = defaultdict(set)
    for grade in grades:
        who = _who(grade.student)
        names[one_line(grade.student.name).casefold()].add(grade.student)
        if grade.outcome == "missing" and not grade.by_teacher:
            yield "missing", who, grade.lesson
        if not grade.is_settled:
            yield (
                "ungraded",
                f"{who}, {grade.hand_in.file}: {short(plain(grade.verdict.because), 300)}",
                grade.exercise,
            )
        if grade.points > grade.most:
            yield "bonus", f"{who}, {number(grade.points)} of {number(grade.most)}", grade.exercise
        if grade.late:
            came = moment(grade.hand_in.when)
            of = f"{who}, {grade.hand_in.file}"
            line = (
                f"{of}: {came:%d %B %Y, %H:%M}" if came else NO_TIME.get(grade.hand_in.system, of)
            )
            yield grade.late, line, grade.lesson
        if course.students and grade.student.key not in course.students and grade.hand_in.file:
            yield "strangers", f"{who}, {grade.hand_in.file}", grade.lesson
    students = {grade.student.key: grade.student for grade in grades}
    for (student, _), hand_in in handed_in.items():
        if hand_in.others and student in students:
            line = (
                f"{_who(students[student])}: {hand_in.file} counts, not {', '.join(hand_in.others)}"
            )
            yield "several", short(line, 400), hand_in.lesson
    for twins in names.values():
        if len(twins) > 1:
            yield "twins", ", ".join(sorted(map(_who, twins))), ""
    for student, exercise in course.overrides:
        if student not in students:
            line = (
                f"overrides.toml: there is no student {student!r}, so the override for {exercise} "
                "has no effect"
            )
            yield "strays", line, ""


def _who(student: Student) -> str:
    name = short(one_line(student.name), 60)
    return name if name == student.key else f"{name} ({student.key})"
