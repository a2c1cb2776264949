"""An invented class: students with difficult names, and what they handed in, as the store
keeps it.
"""

import random
from dataclasses import replace
from pathlib import Path

from helpers.classroom.store import Answer, HandIn, Store, Student, Verdict
from helpers.classroom.store import store as opened
from helpers.teach.exercise_files import keys

NAMES = (
    '=HYPERLINK("http://192.0.2.1")',
    "<script>alert(1)</script>",
    "../../x",
    "Maximiliana " + "Long" * 72,
    "Zwilling Doppelt",
    "Zwilling Doppelt",
    "\u202egnorw\u202c Bidimann",
    "Zeile\nUmbruch",
    "Emojina \N{FAMILY} \N{ROCKET}",
    "+49 Telefonius",
    "@everyone",
    "-1+1 Minusmann",
    "\tTabea",
    "Points Possible",
    "Semikolon;=1+1",
    '</style><img src=x onerror="alert(1)">',
    'O\'Neill "Quotilda", Komma',
    "مهدی\u200cرضا",  # a joiner that can't be seen is part of the name
    "山田 太郎",
    "",
    "\ud800 Halbpaar",
)
CAUSES = {
    "too-much-memory": (
        "the copy equals its source, but your function took {n} MiB of anonymous memory at its "
        "peak."
    ),
    "too-short": (
        "source and copy first differ at byte {n},048,576. The copy ends there; {n} bytes are "
        "missing."
    ),
    "raised": "it raised ValueError: I am {name}, in line 3: `{key} = 'call me {name}'`.",
    "still-running": (
        "it was still running after 20 s and was stopped. What should end it, or what makes it so "
        "slow?"
    ),
}
EDITIONS = ("2026-11-22 (11a3030)", "2026-11-22 (11a3030)", "2026-10-01 (9d7e380)")


def write(
    folder: Path, students: int = 200, lessons: tuple[str, ...] = ("02", "03", "04"), seed: int = 1
) -> None:
    """Writes a store in `folder`. A third of the students came from Moodle, a third from Canvas, a
    third as folders.
    """
    chance = random.Random(seed)
    with opened(folder) as known:
        for number in range(students):
            _student(known, number, lessons, chance)


def _student(known: Store, number: int, lessons: tuple[str, ...], chance: random.Random) -> None:
    name = NAMES[number] if number < len(NAMES) else f"Vorname{number} Nachname{number}"
    key = str(910_000_000 + number)
    digest = f"digest{number}"
    shown = name.replace("/", "").replace("_", " ")
    canvas = f"{''.join(shown.lower().split())}_{key}_{7_000_000 + number}"
    place, separator = [
        (f"{shown}_{key}_assignsubmission_file", "/"),
        (canvas, "_"),
        (shown, "/"),
    ][number % 3]
    system = ("moodle", "canvas", "plain")[number % 3]
    student = Student(key, name, f"s{number}@example.org")
    of = {"place": place, "system": system, "number": key if system != "plain" else ""}
    for lesson in (lesson for lesson in lessons if chance.random() > 0.05):
        file = f"{place}{separator}{lesson}_1.ipynb"
        bad = "the notebook is not JSON: Expecting value, line 1" if chance.random() < 0.03 else ""
        when = f"2026-11-{chance.randrange(20, 31)}T{chance.randrange(10, 24)}:15:00+01:00"
        hand_in = HandIn(
            lesson, file, digest, when, why_not=bad, edition=chance.choice(EDITIONS), **of
        )
        hand_in = replace(hand_in, predictions=_predicted(chance))
        for exercise in (exercise for exercise in keys() if exercise.startswith(lesson)):
            verdict = Verdict() if bad else _verdict(key, name, exercise, digest, chance)
            known.keep(Answer(student, exercise, hand_in, verdict))


def _verdict(key: str, name: str, exercise: str, digest: str, chance: random.Random) -> Verdict:
    outcome = chance.choices(["right", "not yet", "not attempted", "not graded"], [60, 30, 8, 2])[0]
    cause = chance.choices(list(CAUSES), [8, 4, 2, 1])[0] if outcome == "not yet" else ""
    because = CAUSES.get(cause, "That is all.").format(
        n=chance.randrange(9, 300), name=name, key=f"my_{key}"
    )
    figures = (f"{chance.randrange(1, 300)} MiB anonymous at its peak (budget 8 MiB)", "512 calls")
    return Verdict(outcome, because, cause, figures, chance.randrange(1, 4), digest, "check")


def _predicted(chance: random.Random) -> dict:
    return {
        "02.three": {
            "slurp": chance.choice([256, 512, 0, 300]),
            "mmap": chance.choice([0, 0, 256, 1e300]),
        },
        "02.chunk": chance.choice(["4 KiB", "1 MiB", "1 MiB", "64 MiB"]),
        "02.order": chance.sample(["one buffer", "async chunks", "sendfile"], 3),
        "02.quiz-counter": chance.choice(["b", "cb", "cab", "b", "z", 3]),
        "03.ahead": chance.choice([1, 4, 16, 32, 32]),
    }
