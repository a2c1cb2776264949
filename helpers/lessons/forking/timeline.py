"""A lost update, step by step: two processes, and the page between them."""

from collections.abc import Sequence

from ...show.boxes import Arrow, Box
from ...show.chart import Row, chart
from ...show.figure import ANONYMOUS, FILE, Kind, Picture, look

HEADS = ("process A", "the page", "process B")
LEFTWARD = "<|-,head_length=5,head_width=2.6"


@look()
def timeline(steps: Sequence[str], at_first: int) -> Picture:
    """Two processes, A and B, add one to a number in a page, which holds `at_first`; a row for each
    step, the first at the top.

    timeline(["A reads", "A writes", "B reads", "B writes"], at_first=41)

    "A reads" takes the number from the page; "A writes" puts back one more than A has. KeyError for
    a process that writes before it reads.
    """
    number = at_first

    def box(kind: Kind) -> Box:
        return Box([(f"{number}", {})], kind)

    page = box(FILE)
    has = {}
    rows = []
    arrows = []
    for step in steps:
        who, verb = step.split()
        if verb == "writes":
            number = has[who] + 1
            page = box(FILE)
        has[who] = number
        own = box(ANONYMOUS)
        left, right = (own, None) if who == "A" else (None, own)
        rightward = (verb == "writes") == (who == "A")
        arrows.append(
            Arrow(left or page, right or page, head=Arrow.head if rightward else LEFTWARD)
        )
        words = [f"{who} and the page have {number}"]
        rows.append(Row(step, [left, page, right], words, heads=() if rows else HEADS))
    opening = f"Two processes add one to a number in a page, {at_first} at first"
    return chart(opening, rows, arrows=arrows, gap=70, widest=120)
