"""The statements of a notebook's cells, each with the global names that it uses. Nothing is executed here.

What a statement binds and looks up is read from its compiled code, because the compiler knows the rules of scopes.
"""

import __future__

import ast
import dis
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType

Cell = tuple[str, str]  # the file that a traceback names, and its text
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
REPLACES = (*DEFINES, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)  # nothing is left of what a name was
AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<generic parameters")  # code that runs where it is
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)  # from compile(), whatever the text


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell.

    binds     the names that it makes ("*": unknown); if it `replaces`, nothing is left of what they were before
    touches   the names whose objects it changes: `Table._fields_ = …`, `rows.append(1)`
    now       what it looks up; `later`: what its functions look up when they are called
    """

    step: CodeType
    binds: frozenset[str]
    replaces: bool
    touches: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]

    def function(self, name: str | None) -> CodeType | None:
        """The code of the function of that name, if this is its `def`."""
        return next((code for code in _inner(self.step) if code.co_name == name and code.co_flags & CO_OPTIMIZED), None)


def statements(cells: Sequence[Cell], asked_for: str | None) -> Iterator[Statement]:
    """In the order of the cells, without those that ask for a verdict. A mere call of `asked_for` only tries it out."""
    flags, imported, verdicts, effects = 0, frozenset(), frozenset(), {}
    for file, text in cells:
        flags, found = _read(file, text, flags)
        for node, stmt in found:
            if stmt.now & verdicts:
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported |= stmt.binds
                verdicts |= stmt.binds if str(getattr(node, "module", "")).startswith("helpers.teach") else set()
            elif isinstance(node, ast.Expr):  # calling a module's function changes nothing: plt.plot(…)
                stmt = replace(stmt, touches=stmt.touches - imported)
            defines = isinstance(node, DEFINES)
            if node.decorator_list if defines else asked_for not in stmt.now:
                for sets, changes in (effects[called] for called in stmt.now & effects.keys()):
                    binds, touches = stmt.binds | sets, stmt.touches | changes - imported
                    stmt = replace(stmt, binds=binds, touches=touches, replaces=stmt.replaces and not sets)
            if defines:
                sets, changes = _set_later(stmt.step), _changed(node.body) & (stmt.now | stmt.later)
                for called in stmt.later & effects.keys() - {asked_for}:
                    sets, changes = sets | effects[called][0], changes | effects[called][1]
                effects |= dict.fromkeys(stmt.binds, (sets, changes))
            yield stmt


def ended_before(line: int | None, text: str) -> str:
    """The text of a cell up to the statement that raised at this line; all of it for None."""
    if line is None:
        return text
    ended = [node.end_lineno for node in _parsed(text) if node.end_lineno < line]
    return "\n".join(text.split("\n")[: max(ended, default=0)])


@lru_cache(1000)
def _read(file: str, text: str, flags: int) -> tuple[int, list[tuple[ast.stmt, Statement]]]:
    """The statements of a cell that compile by themselves (an `await` does not), and the flags of its `__future__`."""
    found = []
    with warnings.catch_warnings(action="ignore"):
        for node in _parsed(text):
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= sum(getattr(__future__, alias.name).compiler_flag for alias in node.names)
                continue
            try:
                step = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
            except NOT_PYTHON:
                continue
            found.append((node, _statement(node, step)))
    return flags, found


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a cell; none if it isn't Python, with or without IPython's own lines."""
    text = re.sub(r"\A\s*%%(time|capture)\b.*", "", text)
    try:
        return ast.parse(text).body
    except NOT_PYTHON:
        pass
    try:
        from IPython.core.inputtransformer2 import TransformerManager

        return ast.parse(TransformerManager().transform_cell(text)).body
    except (ImportError, *NOT_PYTHON):
        return []


def _statement(node: ast.stmt, step: CodeType) -> Statement:
    names = list(_names(step))
    binds = {name for name, what, now in names if what in ("STORE", "DELETE") and now == "here"}
    now = {name for name, what, when in names if what != "STORE" and when != "later"}
    later = {name for name, what, when in names if what != "STORE" and when == "later"}
    aliases = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
    some = isinstance(node, ast.Import) and any("." in name for name in aliases)  # import a.b leaves a.c as it was
    within = getattr(node, "decorator_list", ()) if isinstance(node, DEFINES) else [node]
    return Statement(
        step,
        binds=frozenset(binds | {"*"} & set(aliases)),
        replaces=isinstance(node, REPLACES) and not some and "*" not in aliases,
        touches=_changed(within) & (now | later),
        now=frozenset(now),
        later=frozenset(later),
    )


def _inner(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _names(code: CodeType, when: str = "here") -> Iterator[tuple[str, str, str]]:
    """The global names in code, with what it does to them (LOAD, STORE, DELETE), and when: "here", at the top level;
    at once, in the body of a "class"; or "later", in a function."""
    for step in dis.get_instructions(code):
        what, _, where = step.opname.partition("_")
        if where in ("NAME", "GLOBAL", "FROM_DICT_OR_GLOBALS") and what in ("LOAD", "STORE", "DELETE"):
            yield step.argval, what, when
    for inner in _inner(code):
        at_once = inner.co_name.startswith(AT_ONCE) or not inner.co_flags & CO_OPTIMIZED
        yield from _names(inner, "later" if when == "later" or not at_once else "class")


def _set_later(code: CodeType) -> frozenset[str]:
    """What its functions declare `global` and set."""
    sets = {op.argval for inner in _inner(code) for op in dis.get_instructions(inner) if op.opname == "STORE_GLOBAL"}
    return frozenset(sets).union(*map(_set_later, _inner(code)))


def _changed(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """The names of objects that these statements or decorators change: by an attribute, an item or a method."""
    found = {_root(getattr(node, "func", node)) for node in nodes if isinstance(node, ast.expr)}
    for node in (part for whole in nodes for part in ast.walk(whole)):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
            by_name = isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr") and call.args
            if by_name or isinstance(call.func, ast.Attribute):
                found.add(_root(call.args[0] if by_name else call.func))
    return frozenset(found)


def _root(node: ast.AST) -> str:
    """`a` of `a.b[c].d`; "" if that begins with anything but a name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
