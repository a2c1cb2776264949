"""What a way of loading copies: a chain of places from disk to object, with the bytes copied
between.
"""

from collections.abc import Collection, Mapping

from ..units import NOT_MEASURED, in_words
from .boxes import LENT, Arrow, Box
from .chart import Row, chart
from .figure import ABSENT, ANONYMOUS, FILE, INK, Picture, key, look
from .text import PLAIN

Chain = Mapping[str, float | None]
MOST_PLACES = 5
PLACES = {"disk": ABSENT, "page cache": FILE}  # any other is anonymous memory


@look()
def copy_budget(
    ways: Mapping[str, Chain], caption: str = "", made: Collection[str] = ()
) -> Picture:
    """One row per way: a box for each place the bytes come to, and an arrow with the bytes copied
    into it.

    `{"json.loads": {"page cache": n, "bytes": n, "str": n, "objects": 4 * n}, "mapping": {"page
    cache": n, "array": 0}}`: places in order. The first place has the bytes that lie there, every
    other the bytes copied into it: 0 if they're lent, which crosses the copy out, None if not
    measured. "disk" is no memory, "page cache" is file-backed memory, and a copy to any other place
    becomes anonymous memory. `made`: the places whose bytes are made rather than copied. ValueError
    for fewer than 2 places or more than 5, or for bytes below 0.
    """
    if not ways:
        raise ValueError("nothing to show: pass at least one way with its places")
    rows = []
    arrows = []
    told = []
    for way, chain in ways.items():
        counted = [copied for copied in chain.values() if copied is not None]
        if not 2 <= len(chain) <= MOST_PLACES or min(counted, default=0) < 0:
            raise ValueError(
                f"{way!r} needs 2 to {MOST_PLACES} places, each with bytes from 0 up, not "
                f"{dict(chain)}"
            )
        boxes: list[Box] = []
        words = []
        kind = ABSENT
        for place, copied in chain.items():
            if place in PLACES or not boxes or copied != 0:  # lent bytes stay where they were
                kind = PLACES.get(place, ANONYMOUS)
            boxes.append(Box([(place, PLAIN)], kind, align="center"))
            if len(boxes) > 1:
                verb = "lent" if copied == 0 else "made" if place in made else "copied"
                arrows.append(_arrow(*boxes[-2:], copied, verb))
                words.append(_step(place, copied, verb))
        total = _total(chain, made)
        told.append((f"{way}, from {next(iter(chain))}", [*words, f"in all: {total}"]))
        rows.append(Row("", boxes, heads=[f"{way}: {total}"]))
    disk = any("disk" in chain for chain in ways.values())
    keys = [key(ANONYMOUS), key(FILE), *[key(ABSENT._replace(word="no memory"))] * disk]
    opening = "What is copied on the way to the object, one row per way"
    how = {"keys": keys, "arrows": arrows, "gap": 62, "widest": 150}
    return chart(opening, rows, caption, told, **how)


def _arrow(start: Box, end: Box, copied: float | None, verb: str) -> Arrow:
    if verb == "lent":
        return Arrow(start, end, "lent", color=end.kind.edge, crossed=True, **LENT)
    size = "?" if copied is None else in_words(copied, "bytes")
    return Arrow(start, end, size, verb, ABSENT.edge if copied is None else INK)


def _step(place: str, copied: float | None, verb: str) -> str:
    if verb == "lent":
        return f"lent to {place}"
    size = in_words(copied, "bytes")
    return f"{place} made ({size})" if verb == "made" else f"copied to {place} ({size})"


def _total(chain: Chain, made: Collection[str]) -> str:
    (first, start), *steps = chain.items()
    copied = [each for _, each in steps]
    if None in copied or start is None:
        return f"copied: {NOT_MEASURED}"
    if not any(copied):
        return "nothing copied"
    new = sum(each for place, each in steps if place in made)
    parts = {"copied": sum(copied) - new, "made": new}
    total = ", ".join(f"{in_words(size, 'bytes')} {verb}" for verb, size in parts.items() if size)
    times = sum(copied) / start if start else 0
    if times < 0.01:
        return total
    return (
        f"{total}: {times:{'.2g' if times < 10 else ',.0f'}} × the {first}'s "
        f"{in_words(start, 'bytes')}"
    )
