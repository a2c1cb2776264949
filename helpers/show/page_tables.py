"""Where page tables point: the entries of a process's and its child's, each with an arrow to its
page.
"""

from ..measure.explorer import Step
from ..measure.pages import PageState
from .boxes import Arrow, Box
from .chart import Row, chart
from .figure import LOOKS, Picture, key, look
from .pages import States
from .text import PLAIN

MINE = "my page table"
CHILDS = "the child's page table"
OWN = {MINE: "my own pages", CHILDS: "the child's own pages"}
# any other page is a process's own
HOMES = {PageState.FILE: "the page cache", PageState.FORKED: "pages of both"}
OPENING = (
    "Page tables, with an arrow from each entry to its page: in the page cache if it's "
    "file-backed, of both processes if it's still shared, and else the process's own"
)
ROWS = (OWN[MINE], MINE, *HOMES.values(), CHILDS, OWN[CHILDS])


@look()
def page_tables(step: Step, caption: str = "") -> Picture:
    """My page table after this step of an explorer's film, the child's if there is one, and an
    arrow from each entry to the page that it points at.

    Between the tables are the pages that both can point at: the page cache's, and after a fork the
    anonymous ones that neither process has written to since. Above and below are each one's own.
    ValueError if the pages weren't measured.
    """
    if step.mine.states is None:
        raise ValueError(f"there is no page table to draw: {step.mine.why}")
    tables = {MINE: step.mine} | ({CHILDS: step.child} if step.child else {})
    cells: dict[str, list[Box | None]] = {row: [None] * len(step.mine) for row in ROWS}
    words = {}
    seen = set()
    arrows = []
    for table, pages in tables.items():
        words[table] = States(pages).parts(len(pages))
        seen |= pages.counts.keys()
        for page, state in enumerate(map(PageState, pages.states)):
            entry, target = (
                Box([(str(page), PLAIN)], LOOKS[state], share, align="center")
                for share in (None if state else 1, 1)
            )
            cells[table][page] = entry
            if state:
                home = cells[HOMES.get(state, OWN[table])]
                home[page] = home[page] or target
                arrows.append(Arrow(entry, home[page]))
    rows = [Row(row, boxes, words.get(row, ())) for row, boxes in cells.items() if any(boxes)]
    keys = [key(LOOKS[state]._replace(word=state.words)) for state in LOOKS if state in seen]
    how = {"keys": keys, "arrows": arrows, "gap": 7, "between": 26, "labels": 110}
    return chart(OPENING, rows, caption, **how)
