"""Controls: how a claim is seen to fail.

A control puts another measured case in place of the case that a claim is about; the same cell must
then say that the claim doesn't hold. Controls lie in data/claims.toml beside their claim, by
lesson: a text for the case that can follow "with" ("slurp in the mapping's place"), and the
statements that put the case there. The statements rebind names and change no object. A comparison
that holds under every control asserts nothing.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from itertools import groupby
from typing import Any

from .claims import asserted_in, claims, in_words, is_claim
from .words import inline

TRIES = "import helpers.teach.controls as _controls; display(_controls.noticed({lesson!r}))"
PLAIN = "application/vnd.zero-copy.controls+json"  # what was tried, as data: no notebook shows it
# in the cell that is run again, the name of the function that looks at a claim's comparisons
_ASKED = "_asked"


@dataclass(frozen=True)
class Tried:
    """What the cell says about a claim with another case in its place."""

    claim: str
    case: str
    holds: bool | None = None
    measured: str = ""
    failed: tuple[str, ...] = ()  # the comparisons that don't hold then, as source
    error: str = ""  # why there is nothing to compare; a control should not raise


@dataclass(frozen=True)
class Noticed:
    """All controls of a cell's claims."""

    tried: tuple[Tried, ...]
    comparisons: Mapping[str, tuple[str, ...]]  # what each claim compares, as source

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        lines, rows = [], []
        for claim, cases in groupby(self.tried, lambda each: each.claim):
            rows.append(f"<dt>“{inline(claims()[claim].said)}”</dt>")
            for case in cases:
                came = "Holds all the same" if case.holds else "Does not hold"
                measured = (case.measured or case.error).rstrip(".")
                which = f" (<code>{escape(case.failed[0])}</code>)" if case.failed else ""
                rows.append(
                    f"<dd><strong>With {inline(case.case)}:</strong> {inline(measured)}. "
                    f"{came}{which}.</dd>"
                )
                lines.append(f"{claim}, with {case.case}: {measured}")
        title = '<p class="label">How we would notice</p>'
        html = f'<div class="zc-noticed" role="note">{title}<dl>{"".join(rows)}</dl></div>'
        data = {"comparisons": self.comparisons, "tried": [asdict(case) for case in self.tried]}
        return {"text/plain": "\n".join(lines), "text/html": html, PLAIN: data}


def noticed(lesson: str) -> Noticed:
    """In a lesson's kernel: the controls of the cell that ran before this one."""
    from IPython import get_ipython

    names = get_ipython().user_ns
    return tried(names["In"][-2], names, lesson)


def tried(source: str, names: Mapping[str, Any], lesson: str) -> Noticed:
    """Runs a cell that asserts claims again, in a copy of its names: once for each control of each
    claim.
    """
    asked = _Asked()
    cell = compile(ast.fix_missing_locations(asked.visit(ast.parse(source))), "<claims>", "exec")
    found = [
        _under(cell, names, claim, case, control)
        for claim in asserted_in(source)
        for case, control in claims()[claim].controls.get(lesson, {}).items()
    ]
    return Noticed(tuple(found), asked.comparisons)


def _under(cell: Any, names: Mapping[str, Any], claim: str, case: str, control: str) -> Tried:
    said: dict[str, tuple[bool | None, str]] = {}
    failed: list[str] = []

    def asked(
        id: str, holds: Callable[[], Any], comparisons: Mapping[str, Callable[[], Any]]
    ) -> Any:
        if id == claim:
            for text, comparison in comparisons.items():
                # a comparison that is reached only if those before it hold
                with suppress(Exception):
                    if not comparison():
                        failed.append(text)
        return holds()

    def says(id: str, holds: bool | None, measured: Any) -> str:
        said[id] = holds, in_words(measured)
        return id

    copy = dict(names)
    try:
        exec(control, copy)
        exec(cell, copy | {"claim": says, "display": lambda *_: None, _ASKED: asked})
    except Exception as error:
        return Tried(claim, case, error=f"{type(error).__name__}: {error}")
    holds, measured = said[claim]
    return Tried(claim, case, holds if holds is None else bool(holds), measured, tuple(failed))


class _Asked(ast.NodeTransformer):
    """claim(id, holds=a and b < c < d, …) becomes claim(id, holds=_asked(id, lambda: …, {"a":
    lambda: a, …}), …).
    """

    def __init__(self) -> None:
        self.comparisons: dict[str, tuple[str, ...]] = {}
        self.named: dict[str, ast.expr] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if isinstance(node.targets[0], ast.Name):
            self.named[node.targets[0].id] = node.value
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if not is_claim(node):
            return node
        id, holds, *rest = [
            *node.args,
            *(each.value for each in node.keywords if each.arg == "holds"),
        ]
        parts = {ast.unparse(part): part for part in self._parts(holds)}
        self.comparisons[id.value] = tuple(parts)
        each = ast.Dict(
            [ast.Constant(text) for text in parts], [_later(part) for part in parts.values()]
        )
        node.args = [
            id,
            ast.Call(ast.Name(_ASKED, ast.Load()), [id, _later(holds), each], []),
            *rest,
        ]
        node.keywords = [each for each in node.keywords if each.arg != "holds"]
        return node

    def _parts(self, holds: ast.expr) -> Iterator[ast.expr]:
        """Everything that must be true, part by part; a name that the cell assigns stands for its
        value.
        """
        if isinstance(holds, ast.Name) and isinstance(
            self.named.get(holds.id), ast.BoolOp | ast.Compare | ast.Call
        ):
            yield from self._parts(self.named[holds.id])
        elif isinstance(holds, ast.BoolOp) and isinstance(holds.op, ast.And):
            for value in holds.values:
                yield from self._parts(value)
        elif isinstance(holds, ast.IfExp):
            yield from self._parts(
                holds.orelse if isinstance(holds.body, ast.Constant) else holds.body
            )
        elif isinstance(holds, ast.Compare):
            sides = [holds.left, *holds.comparators]
            for left, how, right in zip(sides, holds.ops, sides[1:], strict=False):
                yield ast.Compare(left, [how], [right])
        else:
            yield holds


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)
