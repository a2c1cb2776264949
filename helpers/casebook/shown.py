"""`cases()` and `case()`: the casebook in a notebook."""

import re

from IPython.display import Markdown, display

from ..measure.recording import Comparison
from ..show import Table, curves
from ..teach.exercises import nearest
from ..teach.words import plain
from . import files
from .run import holds, measured

LINK = re.compile(r"\[([^]]+)\]\(#([\w-]+)\)")
SIGN = {True: "✓", False: "✗", None: "not measured here"}


def cases(words: str = "") -> Table:
    """The cases in whose family, title or error messages all these words stand; if there are none, the five that have
    the rarest of the words. All cases without any words."""
    asked, known, texts = set(words.lower().split()), files.book(), {}
    for family in files.families():
        for one in known:
            if family in one.see:
                row = (family, plain(one.title), f'case("{one.name}")')
                texts[row] = " ".join((family, one.name, one.title, *one.says)).lower()
    rows = [row for row, text in texts.items() if all(word in text for word in asked)]
    caption = f"{len({row[2] for row in rows})} of {len(known)} cases, by what one sees."
    if not rows:
        rare = {word: 1 / max(1, sum(word in text for text in texts.values())) for word in asked}
        rates = {row: sum(rare[word] for word in asked if word in text) for row, text in texts.items()}
        rows = [row for row in sorted(rates, key=rates.get, reverse=True)[:5] if rates[row]]
        caption = "No case has all of these words. Try fewer, or some of an error message; cases() lists all cases."
    return Table(caption, ("what one sees", "case", "to see it"), rows)


def case(name: str) -> None:
    """Shows a case, and measures it here: broken, cured, and what tells them apart."""
    one = files.read(files.CASES / nearest(name, [folder.name for folder in files.folders()], "case"))
    parts = [f"## {one.title}", *(f"**{head}**\n\n{text}" for head, text in one.sections.items())]
    if not one.not_run:
        parts.insert(-1, f"```diff\n{one.change}\n```")
    display(Markdown(LINK.sub(r'\1 (`case("\2")`)', "\n\n".join(parts))))
    if one.not_run:
        print(f"Not run here: {one.not_run}")
        return
    runs = measured(one)
    display(curves(runs, stays=True), told(one, runs))


def told(one: files.Case, runs: Comparison) -> Table:
    """What is asserted of the two programs, and whether it holds."""
    return Table("What tells them apart.", ("asserted", ""), [(text, SIGN[held]) for text, held in holds(one, runs)])
