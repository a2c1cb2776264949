"""`cases()` and `case()`: the casebook in a notebook."""

import math
import re
from collections.abc import Iterable

from IPython.display import Markdown, display

from ..measure import Comparison
from ..show import Table, curves
from ..teach.exercises import nearest
from ..teach.words import plain
from . import files
from .run import holds, measured

LINK = re.compile(r"\[([^]]+)\]\(#([\w-]+)\)")
# "slices" and "keeping" are about a slice, and to keep
STEM = re.compile(r"(?<=\w{4})(ing|ies|es|ed|s)$")
# what people exchange, as it begins: the page's filter has the same
SAME = """grow rise climb increas leak, ram memory, remain stay keep, kill oom, disk drive,
delet remov purg clean, hang stuck freez deadlock, releas free return, doubl twice, train epoch"""
ALIKE = [words.split() for words in SAME.split(",")]
SIGN = {True: "✓", False: "✗", None: "not measured here"}


def cases(words: str = "") -> Table:
    """The cases in whose family, title, error messages or `words` all these words stand, the
    likeliest first, and if there are fewer than five, those whose whole text comes nearest. All
    cases, by family, without any words.
    """
    known = files.book()
    asked = {STEM.sub("", word) for word in re.findall(r"[\w.]+", words.lower())}
    if not asked:
        pairs = [(family, one) for family in files.families() for one in known if family in one.see]
        return _listed(f"{len(known)} cases, by what one sees.", pairs)
    heads = {
        one: " ".join((*one.see, one.name, one.title, *one.says, *one.words)).lower()
        for one in known
    }
    texts = {
        one: f"{head} {' '.join(one.sections.values())}".lower() for one, head in heads.items()
    }
    counts = {word: {one: _count(texts[one], word) for one in known} for word in asked}
    rare = {
        word: math.log(len(known) / max(1, sum(map(bool, count.values()))))
        for word, count in counts.items()
    }

    def rate(one: files.Case) -> float:
        return sum(
            rare[word] * (2 * _count(heads[one], word) ** 0.5 + counts[word][one] ** 0.5)
            for word in asked
        )

    rates = {one: rate(one) for one in known}
    best = sorted(known, key=rates.get, reverse=True)
    found = [one for one in best if all(_count(heads[one], word) for word in asked)]
    more = [one for one in best if rates[one] and one not in found][: max(0, 5 - len(found))]
    caption = f"{len(found)} of {len(known)} cases, the likeliest first."
    if more:
        caption = (
            f"{len(found)} with all of the words in title or messages; the others come near. "
            "cases() lists all."
        )
    elif not found:
        caption = (
            "No case has any of these words. Try others, or some of an error message; cases() "
            "lists all."
        )
    found += more
    return _listed(caption, [(one.see[0], one) for one in found])


def _count(text: str, word: str) -> int:
    """How many words of the text begin so, or as one that people use for it?"""
    words = next((words for words in ALIKE if word in words), [word])
    return len(re.findall(rf"(?<!\w)({'|'.join(map(re.escape, words))})", text))


def _listed(caption: str, pairs: Iterable[tuple[str, files.Case]]) -> Table:
    rows = [(family, plain(one.title), f'case("{one.name}")') for family, one in pairs]
    return Table(caption, ("what one sees", "case", "to see it"), rows)


def case(name: str) -> None:
    """Shows a case, and measures it here: broken, cured, and what tells them apart."""
    one = files.read(
        files.CASES / nearest(name, [folder.name for folder in files.folders()], "case")
    )
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
    return Table(
        "What tells them apart.",
        ("asserted", ""),
        [(text, SIGN[held]) for text, held in holds(one, runs)],
    )
