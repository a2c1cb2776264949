"""A lesson on paper: what it asks, with room to write; and for the teacher, what was measured and what is right."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

from ..teach import Exercise
from .lesson import Lesson, body, filled, tree_of

LINES, MOST = 40, 13  # to write code on: for all exercises of a lesson, and for one
ELSEWHERE = ".zc-quiz, .zc-exercise, .zc-predict, .zc-claim"  # outputs that aren't what a prediction's cell measured


@dataclass(frozen=True)
class Item:
    """A prediction, a quiz or an exercise, as HTML. `section` is the heading above it, "" if the item before has the
    same; `context` is what the lesson says just before a prediction."""

    section: str
    context: str
    asks: str
    answer: str


def items(lesson: Lesson, exercise: Callable[[str], Exercise]) -> list[Item]:
    """What the lesson asks, in its order."""
    tree = body(lesson, "student", exercise)
    for link in tree.find_all("a"):
        link.unwrap()
    found, section, context = [], "", ""
    lines = min(LINES // max(1, len(tree.select(".zc-exercise"))), MOST)
    for asked in tree.select(".zc-predict, .zc-quiz, .zc-exercise"):
        kind, heading, above = asked["class"][0], asked.find_previous("h2"), (section, context)
        section, context = heading.get_text() if heading else "", _context(asked) if kind == "zc-predict" else ""
        if kind == "zc-predict":
            asks, answer = _prediction(asked, tree)
        elif kind == "zc-quiz":
            asks, answer = _quiz(asked)
        else:
            found_exercise = exercise(asked["data-exercise"])
            values = {"asked": asked, "exercise": found_exercise, "lines": lines}
            asks, answer = filled("room.html.j2", **values), filled("solved.html.j2", **values)
        new = (now if now != before else "" for now, before in zip((section, context), above, strict=True))
        found.append(Item(*new, asks, answer))
    return found


def _context(asked: Tag) -> str:
    """The end of the prose above: a paragraph, or a list or table and the paragraph that leads to it."""
    prose = [tag for tag in asked.find_previous(class_="prose").find_all(recursive=False) if tag.name[0] != "h"]
    return "".join(map(str, prose[-1:] if prose and prose[-1].name == "p" else prose[-2:]))


def _prediction(asked: Tag, tree: BeautifulSoup) -> tuple[str, str]:
    """The question, with blanks for what was measured beside those for the guess; and what was measured. With it comes
    what else its cell shows, figures and tables, if no earlier prediction took that."""
    asks, key = copy.copy(asked), f'[data-predicted="{asked["data-predict"]}"]'
    told = tree.select_one(key) or asked.find_next(class_="zc-figure")  # which shows the guess too
    for line in asks.select("p:has([role=img])") or [asks]:
        blank = line.find(role="img")
        line.append(tree_of("beside.html.j2", unit=(blank and blank.next_sibling) or ""))
    own = f".output:not(:has({ELSEWHERE}, [data-predicted]:not({key})))"
    shown = [output.extract() for output in told.find_parent(class_="run").select(own)] if told else []
    return str(asks), "".join(map(str, [asked.p, *shown]))


def _quiz(asked: Tag) -> tuple[str, str]:
    answer, asks = filled("answer.html.j2", quiz=asked), copy.copy(asked)
    for choice in asks.select(".zc-choice"):
        text = choice.summary.extract()
        text.name, text.attrs = "p", {"class": "zc-choice"}
        choice.replace_with(text)
    return str(asks), answer
