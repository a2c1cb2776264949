"""A course of nbgrader's: `submitted/ada/copying/02_copy_a_big_file.ipynb` (user guide,
"Philosophy"), with the time in `timestamp.txt` ("Late submission plugin").

The check's verdict goes where nbgrader's own tests would have put theirs (auto_score,
auto_comment). We never touch what a teacher types in formgrader (manual_score, manual_comment), and
it counts before the verdict.
"""

import re
import time
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ...widgets import progress_bar
from ..course import Course
from ..course_of_nbgrader import assignment, grade_id, gradebook, settings
from ..store import Answer
from . import Owner

SUBMITTED = "submitted"
TIMESTAMP = "timestamp.txt"
FOLDERS = {
    "source",
    "source_with_tests",
    "release",
    SUBMITTED,
    "autograded",
    "feedback",
    "solution",
}


def read(names: Collection[str]) -> dict[str, Owner]:
    """Of what lies in submitted/."""
    folders = {name: name[:-1] for name in names if name.endswith("/")}
    return {name: Owner("nbgrader", student, student) for name, student in folders.items()}


def moment(timestamp: str) -> datetime:
    """ "2015-02-02 14:58:23.948203 America/Los_Angeles", "… UTC" or "… +0100", or ISO 8601: in UTC
    unless it names a zone (nbgrader.utils.parse_utc). ValueError, LookupError or
    OverflowError if it's none.
    """
    words = timestamp.split()
    zone = words.pop() if len(words) > 2 and words[-1][0] not in "+-" else None
    found = datetime.fromisoformat(" ".join(words[:2]) + "".join(words[2:]))
    if zone in time.tzname:
        found = found.astimezone()
    elif not found.tzinfo:
        found = found.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
    found.astimezone(UTC)  # OverflowError if there is no such moment
    return found


def write(answers: Iterable[Answer], course: Course, folder: Path) -> str:
    """Writes the score and verdict of every answer below submitted/ to the course's gradebook, and
    says what it wrote. Marks for the teacher ("needs manual grading") each answer that could not be
    graded, and each score that a teacher typed before the check's changed. Raises NotReady, before
    it writes anything, if the gradebook lacks something.
    """
    app = settings(folder)
    ours = [one for one in answers if one.exercise and _is_submitted(app, one)]
    with gradebook(app, sorted({one.exercise for one in ours}), course) as book:
        bar = progress_bar(ours, desc="writing scores", unit="answer")
        teachers = [_of(one) for one in bar if _put(book, one)]
    ungraded = [_of(one) for one in ours if not one.is_settled]
    said = [f"nbgrader's gradebook has the scores of {len(ours) - len(ungraded)} answers"]
    if ungraded:
        said.append(
            f"{len(ungraded)} could not be graded, for you to settle: {', '.join(ungraded)}"
        )
    if teachers:
        said.append(f"what you entered in formgrader still counts for {', '.join(teachers)}")
    return "; ".join(said)


def _of(answer: Answer) -> str:
    return f"{answer.hand_in.place} {answer.exercise}"


def _is_submitted(app: Any, answer: Answer) -> bool:
    if answer.hand_in.system != "nbgrader":
        return False
    at = app.coursedir.submitted_directory, answer.hand_in.place, assignment(answer.lesson)
    return Path(app.coursedir.format_path(*at)).is_dir()


def _put(book: Any, answer: Answer) -> bool:
    """Does something that the teacher has entered count before it?"""
    student = answer.hand_in.place
    name = assignment(answer.lesson)
    stamp = {}
    if answer.hand_in.when:
        came = datetime.fromisoformat(answer.hand_in.when)
        stamp["timestamp"] = came.astimezone(UTC).replace(tzinfo=None)
    book.update_or_create_student(student)
    with book.db.no_autoflush:  # SQLAlchemy's autoflush warns about what nbgrader does here
        book.update_or_create_submission(name, student, **stamp)
    grade = book.find_grade(grade_id(answer.exercise), name, name, student)
    comment = book.find_comment(grade_id(answer.exercise), name, name, student)
    score = answer.points if answer.is_settled else None
    if grade.manual_score is None:
        grade.needs_manual_grade = score is None
    elif grade.auto_score != score:
        # the teacher's score stays, and is to be looked at again
        grade.needs_manual_grade = True
    grade.auto_score = score
    comment.auto_comment = _words(answer)
    book.db.commit()
    return grade.manual_score is not None or bool(comment.manual_comment)


def _words(answer: Answer) -> str:
    """The verdict as text that can't start an HTML tag."""
    by = answer.verdict
    leads = {"right": "Right.", "not attempted": "Not attempted yet."}
    lines = (
        answer.comment,
        f"{answer.points:g} points, given by your teacher." if answer.by_teacher else "",
        f"{leads.get(by.outcome, f'{by.outcome.capitalize()}:')} {by.because}".strip(),
        f"Measured: {' · '.join(by.figures)}" if by.figures else "",
    )
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", "\n\n".join(filter(None, lines)))
