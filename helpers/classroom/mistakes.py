"""What goes wrong in a class, and how often, in words that give nobody away."""

import ast
import builtins
import re
import signal
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .. import folders
from ..teach.words import short
from .grades import Grade
from .store import HandIn

HELPERS = folders.ROOT / "helpers"
OURS = (*HELPERS.glob("teach/*.py"), *HELPERS.glob("classroom/*.py"), HELPERS / "units.py")
TOKEN = re.compile(r"\w+|[^\w\s]")
LEFT_OUT = "…"
IN_WORDS = {"raised": "stopped with an error", "not-python": "not valid Python"}  # causes that need more words


class Mistake(NamedTuple):
    """What answers to an exercise have in common, and as an example what the check said about one of them."""

    words: str
    count: int
    example: str


def mistakes(grades: Iterable[Grade]) -> list[Mistake]:
    """The mistakes in those answers to one exercise that are "not yet", the commonest first."""
    by_cause: dict[str, Counter[str]] = {}
    for grade in grades:
        if grade.outcome == "not yet":
            sentence = impersonal(grade.row.because, grade.exercise)
            by_cause.setdefault(grade.row.cause, Counter())[sentence] += 1
    found = []
    for cause, sentences in sorted(by_cause.items(), key=lambda item: (-item[1].total(), item[0])):
        words = IN_WORDS.get(cause, cause.replace("-", " ")) or "no cause given"
        commonest = min(sentences, key=lambda sentence: (-sentences[sentence], sentence))
        found.append(Mistake(words, sentences.total(), commonest))
    return found


def reasons(grades: Iterable[Grade], hand_ins: Iterable[HandIn]) -> list[tuple[str, int, str]]:
    """Why hand-ins and answers could not be graded: ("hand-in" or "answer", how many, why), the commonest first."""
    ungraded = {(hand_in.student, hand_in.lesson): hand_in.why_not for hand_in in hand_ins if hand_in.why_not}
    counts = Counter(("hand-in", impersonal(why_not)) for why_not in ungraded.values())
    for grade in grades:
        if not grade.is_settled and (grade.student.key, grade.lesson) not in ungraded:
            counts["answer", impersonal(grade.row.because, grade.exercise)] += 1
    return [(what, count, why) for (what, why), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def impersonal(text: str, exercise: str = "") -> str:
    """`text` without the parts that only a student can have written.

    Drops the message of an error and the line of code after it. Elsewhere, it keeps words from our own sentences or the
    exercise, Python's own names, and numbers of up to five digits; everything else becomes "…".
    """

    def shown(token: re.Match[str]) -> str:
        is_ours = token[0] in _our_words(exercise) or re.fullmatch("[0-9]{1,5}", token[0])
        return token[0] if is_ours else LEFT_OUT

    text = re.sub(r"\b(raised \w+): .*", rf"\1: {LEFT_OUT}", " ".join(text.split()))
    return short(re.sub(rf"{LEFT_OUT}(\W*{LEFT_OUT})+", LEFT_OUT, TOKEN.sub(shown, text)), 300)


@cache
def _our_words(exercise: str) -> frozenset[str]:
    texts = [*dir(builtins), *signal.Signals.__members__, LEFT_OUT]
    for file in OURS:
        texts += _strings(file)
    folder = folders.EXERCISES.joinpath(*exercise.split("."))
    if exercise and folder.exists():
        texts += _strings(folder / "check.py")
        texts += [(folder / name).read_text(encoding="utf-8") for name in ("prompt.md", "starter.py")]
    return frozenset(TOKEN.findall(" ".join(texts)))


@cache
def _strings(file: Path) -> list[str]:
    """The strings in a module, without its docstrings, which may have names in their examples."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in constants if isinstance(node.value, str)]
