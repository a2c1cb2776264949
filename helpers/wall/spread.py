"""What the votes of a class say, in sentences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..teach.predict import NUMBERS, near
from .questions import Question

MIN_ANSWERS = 5  # with fewer answers nothing is drawn
Pairs = Sequence[tuple[Any, Any]]  # each voter's first and second answer, None where there is none
# Up to which per cent of right answers talk helps (teacher/votes.md).
RULE = {
    29: "Too few for talk to help: explain, then ask again.",
    70: "Worth talking about.",
    100: "Go on.",
}


@dataclass(frozen=True)
class Spread:
    """The votes of one step that are drawn, although more may have come in since."""

    step: str = ""
    answers: int = 0  # to the first vote and to the second
    pairs: Pairs = ()
    votes: int = 1  # 2 if anybody has voted again


def rights(asked: Question, answer: Any) -> dict[str, bool]:
    """By name of a number, "" for any other answer: is it right? A number is right within a
    tenth.
    """
    if asked.kind not in NUMBERS:
        return {"": answer == asked.measured}
    given, came = (one if isinstance(one, dict) else {"": one} for one in (answer, asked.measured))
    numbers = {name: number for name, number in came.items() if isinstance(number, int | float)}
    return {
        name: name in given and near(given[name], number, asked.unit)
        for name, number in numbers.items()
    }


def is_right(asked: Question, answer: Any) -> bool:
    return all(rights(asked, answer).values())


def share(asked: Question, *votes: Sequence[Any]) -> str:
    """How many are right in each vote: "Right: 43 % of 28, then 71 % of 30." Without votes of fewer
    than MIN_ANSWERS; "" for no vote, or without a measurement.
    """
    given = [[answer for answer in vote if answer is not None] for vote in votes]
    given = [vote for vote in given if len(vote) >= MIN_ANSWERS]
    if asked.measured is None or not given:
        return ""
    text = ", then ".join(f"{_percent(asked, vote)} % of {len(vote)}" for vote in given)
    if asked.kind == "numbers":
        by_name = Counter(
            name for answer in given[-1] for name, right in rights(asked, answer).items() if right
        )
        parts = [f"{name} {100 * by_name[name] / len(given[-1]):.0f} %" for name in asked.measured]
        text += f" in all numbers ({', '.join(parts)})"
    return f"Right: {text}."


def rule(asked: Question, vote: Sequence[Any]) -> str:
    """What to do after this first vote."""
    given = [answer for answer in vote if answer is not None]
    if asked.measured is None or len(given) < MIN_ANSWERS:
        return ""
    return next(advice for most, advice in RULE.items() if _percent(asked, given) <= most)


def _percent(asked: Question, vote: Sequence[Any]) -> int:
    return round(100 * sum(is_right(asked, answer) for answer in vote) / len(vote))


def changed(asked: Question, pairs: Pairs) -> str:
    """For the class, which doesn't know yet what is right: how many changed their answer, and what
    most of them did.
    """
    both = [pair for pair in pairs if None not in pair]
    moved = [(first, second) for first, second in both if first != second]
    text = f"{len(moved)} of {len(both)} changed their answer"
    if moved and asked.kind in ("choice", "quiz"):
        commonest, count = Counter(moved).most_common(1)[0]
        if count >= MIN_ANSWERS:
            names = {
                name[1] if asked.kind == "quiz" else name: name.rstrip(".") for name in asked.names
            }
            first, second = (names.get(answer, answer) for answer in commonest)
            text += f", {count} of them from “{first}” to “{second}”"
    return f"{text}."


def corrected(asked: Question, pairs: Pairs) -> str:
    """How many changed from wrong to right, and from right to wrong. "" without a measurement."""
    if asked.measured is None:
        return ""
    both = [[is_right(asked, answer) for answer in pair] for pair in pairs if None not in pair]
    sentences = []
    for was, became, word in ((False, True, "wrong"), (True, False, "right")):
        others = [after for before, after in both if before is was]
        if others:
            now = "right" if became else "wrong"
            sentences.append(
                f"Of {len(others)} who were {word}, {others.count(became) or 'none'} changed to "
                f"{now}."
            )
    return " ".join(sentences)
