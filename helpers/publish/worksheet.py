"""A lesson on paper: what it asks, with room to write; and for the teacher, what was measured and
what is right.
"""

import copy
import re
from collections.abc import Callable

from bs4 import BeautifulSoup, Tag

from ..teach import Exercise
from .lesson import Lesson, body, filled, tree_of

LINES, MOST = 40, 13  # to write code on: for all exercises of a lesson, and for one
CODE, BRIEF = (
    66,
    13,
    # lines of code that questions are about, for all of a lesson; fewer if it asks more than 13
    # times
)
# outputs that aren't what a prediction's cell measured
ELSEWHERE = ".zc-quiz, .zc-exercise, .zc-predict, .zc-claim"


def items(lesson: Lesson, exercise: Callable[[str], Exercise]) -> list[dict[str, str]]:
    """What the lesson asks, in its order, as HTML: `asks`, and `answer` on the other sheet.
    `section` is the heading above, and `context` what the lesson says before a prediction, or "" if
    the item before has the same.
    """
    tree = body(lesson, "student", exercise)
    found = []
    above = {}
    for link in tree.find_all("a"):
        link.unwrap()
    lines = min(LINES // max(1, len(tree.select(".zc-exercise"))), MOST)
    asking = tree.select(".zc-predict, .zc-quiz, .zc-exercise")
    code = {id(asked): _code(asked) for asked in tree.select(".zc-predict")}
    left = CODE - 12 * max(0, len(asking) - BRIEF)
    for key, shown in sorted(code.items(), key=lambda one: _length(one[1])):
        code[key], left = str(shown or "") if left >= _length(shown) else "", left - _length(shown)
    for asked in asking:
        heading = asked.find_previous("h2")
        item = {"context": ""}
        if "data-exercise" in asked.attrs:
            values = {"asked": asked, "exercise": exercise(asked["data-exercise"]), "lines": lines}
            item["asks"], item["answer"] = (
                filled(f"{name}.html.j2", **values) for name in ("room", "solved")
            )
        elif "data-quiz" in asked.attrs:
            item["answer"], item["asks"] = filled("answer.html.j2", quiz=asked), _quiz(asked)
        else:
            item["context"] = _context(asked) + code[id(asked)]
            item["asks"], item["answer"] = _prediction(asked, tree)
        item["section"] = heading.get_text() if heading else ""
        found.append(
            item | {name: "" for name in ("section", "context") if item[name] == above.get(name)}
        )
        above = item
    return found


def _context(asked: Tag) -> str:
    """The end of the prose above: a paragraph, or a list or table and the paragraph that leads to
    it.
    """
    prose = [
        tag
        for tag in asked.find_previous(class_="prose").find_all(recursive=False)
        if tag.name[0] != "h"
    ]
    return "".join(map(str, prose[-1:] if prose and prose[-1].name == "p" else prose[-2:]))


def _code(asked: Tag) -> Tag | None:
    """What a question is about: of the code since the last question, the last that defines
    something, or the last.
    """
    shown = []
    for cell in asked.find_parent(class_="run").find_previous_siblings(class_="run"):
        if cell.select_one(".zc-predict, .zc-quiz, .zc-exercise"):
            break
        code = cell.select_one(":scope > pre.code")
        if code and "exercise(" not in code.get_text():
            shown.append(code)
    defining = [
        code
        for code in shown
        if re.search(r"^(async )?def |^class ", code.get_text(), re.MULTILINE)
    ]
    return next(iter(defining + shown), None)


def _length(code: Tag | None) -> int:
    return len(code.get_text().strip().splitlines()) if code else 0


def _prediction(asked: Tag, tree: BeautifulSoup) -> tuple[str, str]:
    """The question, with blanks for what was measured beside those for the guess; and what was
    measured. With it comes what else its cell shows, figures and tables, if no earlier prediction
    took that.
    """
    asks = copy.copy(asked)
    key = f'[data-predicted="{asked["data-predict"]}"]'
    told = tree.select_one(key) or asked.find_next(class_="zc-figure")  # which shows the guess too
    for line in asks.select("p:has([role=img])") or [asks]:
        blank = line.find(role="img")
        line.append(tree_of("beside.html.j2", unit=(blank and blank.next_sibling) or ""))
    own = f".output:not(:has({ELSEWHERE}, [data-predicted]:not({key})))"
    shown = (
        [output.extract() for output in told.find_parent(class_="run").select(own)] if told else []
    )
    return str(asks), "".join(map(str, [asked.p, *shown]))


def _quiz(asked: Tag) -> str:
    """The question and the choices, without what is said about them."""
    for choice in asked.select(".zc-choice"):
        text = choice.summary.extract()
        text.name = "p"
        text.attrs = {"class": "zc-choice"}
        choice.replace_with(text)
    return str(asked)
