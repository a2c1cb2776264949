"""Claims: what people say, what a measurement in the notebook says, and whether the two agree on
this machine.
"""

import ast
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from .. import folders
from ..measure import Machine, here
from ..units import NOT_MEASURED
from .exercises import nearest
from .recorded import stood_in
from .words import inline, plain

CLAIMS = folders.DATA / "claims.toml"
FIELDS = ("said", "verdict", "better", "show", "source")
VERDICTS = {
    "true": "True.",
    "caveat": "True, with conditions.",
    "misleading": "Misleading.",
    "false": "False.",
}
RECORDED = "Not measured here, but on another machine:"
HERE = (
    "It came out differently on this machine: {}. Common reasons: a file system that stacks layers "
    "or shares extents, another kernel, or a machine busy with other things."
)


class ClaimError(AssertionError):
    """A measurement didn't bear out what data/claims.toml says."""


@dataclass(frozen=True)
class Known:
    """One entry of data/claims.toml."""

    id: str
    said: str
    verdict: str
    better: str  # the statement that measurements bear out: what a lesson asserts
    show: str
    source: str
    lessons: tuple[str, ...]
    # by lesson: a text for each counter-case, and the statements that put it in place (controls.py)
    controls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    untested: str = ""  # why no counter-case can be made; "" if it can


@dataclass(frozen=True)
class Claim:
    """What was said, what was measured, and whether it holds here: True, False, or None if it
    couldn't be measured.
    """

    known: Known
    holds: bool | None
    measured: str
    machine: Machine | None = None
    recorded: tuple[str, ...] = ()  # what stood in for measurements here

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "differs", None: NOT_MEASURED.removesuffix(" here")}[
            self.holds
        ]

    @property
    def rows(self) -> list[tuple[str, str]]:
        rows = [
            ("Said", f"“{self.known.said}”"),
            (
                "Measured",
                (
                    self.measured
                    if self.holds is not None
                    else f"{NOT_MEASURED}. {self.measured}".strip()
                ),
            ),
            ("Recorded", f"{RECORDED} {', '.join(self.recorded)}." if self.recorded else ""),
            ("Verdict", f"{VERDICTS[self.known.verdict]} {self.known.better}"),
            ("Not tested", self.known.untested),
            ("Here", HERE.format(self.machine) if self.holds is False else ""),
        ]
        return [(name, text) for name, text in rows if text]

    def __repr__(self) -> str:
        return "\n".join(f"{name + ':':10}{plain(text)}" for name, text in self.rows)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<dt>{escape(name)}</dt><dd>{inline(text)}</dd>" for name, text in self.rows
        )
        return f'<div class="zc-claim" data-verdict="{self.verdict}"><dl>{rows}</dl></div>'


def claim(id: str, holds: bool | None, measured: str | Mapping[str, float | str]) -> Claim:
    """Binds a claim of data/claims.toml to a measurement: `claim("slurp-costs-file", share > 0.95,
    {"slurp": share})`. `holds`: does it bear out the entry's `better` statement? None if this
    machine lacks the meter. If it's false, the claim is shown all the same, or raises ClaimError
    under ZERO_COPY_STRICT=1. `measured`: a sentence, or a measurement for each name, of which a
    number is a share, shown in percent.
    """
    known = claims()
    holds = None if holds is None else bool(holds)
    said = known[nearest(id, [*known], "claim")]
    machine = here(folders.generated())
    made = Claim(said, holds, in_words(measured), machine, tuple(dict.fromkeys(stood_in)))
    stood_in.clear()
    if made.holds is False and os.environ.get("ZERO_COPY_STRICT") == "1":
        raise ClaimError(f"claim {id!r} does not hold here\n{made!r}")
    return made


def in_words(measured: str | Mapping[str, float | str]) -> str:
    """What was measured as a sentence; see `claim`."""
    if isinstance(measured, str):
        return measured
    texts = {
        name: value if isinstance(value, str) else f"{value:.1%}"
        for name, value in measured.items()
    }
    return "; ".join(f"{name} {text}" for name, text in texts.items())


def claims(path: Path | None = None) -> dict[str, Known]:
    """Every entry of data/claims.toml. Raises ValueError for an entry that lacks a field or has an
    unknown verdict.
    """
    with (path or CLAIMS).open("rb") as file:
        entries = tomllib.load(file)
    for id, entry in entries.items():
        lacking = [name for name in FIELDS if not str(entry.get(name, "")).strip()]
        lessons = entry.get("lessons")
        controls = entry.setdefault("controls", {})
        if not isinstance(lessons, list) or not all(
            re.fullmatch(r"\d\d", str(lesson)) for lesson in lessons
        ):
            lacking.append('lessons (a list such as ["02"])')
        if lacking:
            raise ValueError(f"claim {id!r} lacks {', '.join(lacking)}")
        if entry["verdict"] not in VERDICTS:
            raise ValueError(
                f"claim {id!r} has the verdict {entry['verdict']!r}; there are: "
                f"{', '.join(VERDICTS)}"
            )
        if elsewhere := sorted(controls.keys() - set(lessons)):
            raise ValueError(
                f"claim {id!r} has controls for lesson {elsewhere[0]}, where it is not asserted"
            )
        entry["lessons"] = tuple(lessons)
    return {id: Known(id, **entry) for id, entry in entries.items()}


def asserted_in(source: str) -> list[str]:
    """The claims that a cell asserts. Magics and shell lines assert nothing; a cell magic starts
    another language.
    """
    if source.startswith("%%"):
        return []
    tree = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source))
    return [node.args[0].value for node in ast.walk(tree) if is_claim(node)]


def is_claim(node: ast.AST) -> bool:
    """Is it a call `claim("…", …)`, or `teach.claim("…", …)`?"""
    match node:
        case ast.Call(
            func=ast.Name(id="claim") | ast.Attribute(attr="claim"), args=[ast.Constant(), *_]
        ):
            return True
    return False
