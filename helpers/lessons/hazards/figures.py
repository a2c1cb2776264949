"""The picture of names, files and a reader's mapping."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...show.boxes import Arrow, Box
from ...show.chart import Row, chart
from ...show.figure import ABSENT, FILE, Picture, key, look
from ...show.text import FAINT, PLAIN
from ...units import in_words

OPENING = "A name, a reader's mapping, and the files that they lead to, with their blocks"
LAYOUT = {"gap": 70, "between": 10, "widest": 170}
CUT = ABSENT._replace(word="mapped, but no longer in the file")


@look()
def names_and_files(
    cases: Mapping[str, Mapping[str, Any]], contents: Mapping[int, str], caption: str = ""
) -> Picture:
    """Two lines per case, each a `standing`: the name and the file that it leads to, a reader's
    mapping and the file that it holds; if that's one file, it stands once. Beside it its blocks, as
    a share of what is mapped. `contents` says what a byte of a file means: `{1: "the old bytes"}`.
    """
    rows = []
    arrows = []
    for case, now in cases.items():
        reader = Box([("reader's mapping", PLAIN)], FILE, align="center")
        held, holds = _file(now["held"], now["mapped"], contents)
        name = Box([("no name", FAINT)], edge=ABSENT.edge, align="center")
        named, names = held, "no file"
        if now["named"]:
            name = Box([("name", PLAIN)], align="center")
            other, names = _file(now["named"], now["mapped"], contents)
            if now["named"][0] != now["held"][0]:
                named = other
            arrows.append(Arrow(name, named[0]))
        arrows += [Arrow(reader, held[0]), Arrow(*held), Arrow(*named)]
        words = [f"{case}: the name leads to {names}", f"the mapping holds {holds}"]
        rows += [Row("", [name, *named], words, heads=[case]), Row("", [reader, *held])]
    return chart(OPENING, rows, caption, keys=[key(CUT)], arrows=arrows, **LAYOUT)


def _file(file: Sequence[int], mapped: int, contents: Mapping[int, str]) -> tuple[list[Box], str]:
    """The file and its blocks; and both in words."""
    inode, length, byte = file
    blocks = f"{in_words(length, 'bytes')}: {contents[byte]}"
    node = Box([("file", PLAIN), (f"inode {inode}", FAINT)], align="center")
    bytes_there = Box([(blocks, PLAIN)], FILE, min(1, length / mapped), align="center")
    return [node, bytes_there], f"inode {inode}, {blocks}"
