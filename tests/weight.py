"""What a reader has to read, room by room: `python -m tests.weight`.

Weight is counted in nodes of the syntax tree without docstrings, which folding lines doesn't
change; the form is `ruff format`. Comments and docstrings weigh nothing. Of the tests' tables in
TOML and text, each word is a node.
"""

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from helpers.folders import ROOT

# Of nodes. Nothing but a new lesson, page or picture raises them.
LIMITS = {"helpers": 210_000, "tests": 234_000}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
TABLES = {".toml", ".txt"}


class Weight(NamedTuple):
    """Of a file, or of several: nodes, and lines that have code."""

    nodes: int = 0
    lines: int = 0

    def __add__(self, other: "Weight") -> "Weight":
        return Weight(self.nodes + other.nodes, self.lines + other.lines)


def weight(path: Path) -> Weight:
    """The weight of a module or of a table."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in TABLES:
        return Weight(len(text.split()), len(text.splitlines()))
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = [
        node.body[0]
        for node in nodes
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    ]
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for docstring in docstrings:
        lines -= set(range(docstring.lineno, docstring.end_lineno + 1))
    return Weight(len(nodes) - 2 * len(docstrings), len(lines))


def weighed(top: str) -> Iterator[tuple[Path, Weight]]:
    """Every file below helpers/ or tests/ that counts."""
    for path in sorted((ROOT / top).rglob("*")):
        if path.suffix == ".py" or (top == "tests" and path.suffix in TABLES):
            yield path, weight(path)


def rooms(top: str) -> dict[str, Weight]:
    """Every room's weight; "" is what stands in none."""
    found = defaultdict(Weight)
    for path, one in weighed(top):
        room, *rest = path.relative_to(ROOT / top).parts
        found[room if rest else ""] += one
    return dict(found)


def main() -> None:
    """Prints each room's nodes, lines of code and nodes a line, the heaviest first."""
    for top in LIMITS:
        found = rooms(top)
        heaviest = sorted(found.items(), key=lambda item: -item[1].nodes)
        for room, one in [(top, sum(found.values(), Weight())), *heaviest]:
            print(f"{room or '(in none)':<14} {one.nodes:>8,} nodes", end="")
            print(f" {one.lines:>7,} lines {one.nodes / one.lines:6.1f}")
        print()


if __name__ == "__main__":
    main()
