"""The student's function as it travels to its process: the statements that it needs, and nothing that they made.

`taken` finds them by their syntax in a list of cells: a kernel's history at home, a notebook's cells in class. Nothing
of the student is executed here.
"""

import __future__

import ast
import builtins
import dis
import inspect
import linecache
import re
import site
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle

HELPERS = Path(__file__).parents[1]
Cell = tuple[str, str]  # the file that a traceback names, and what stands in it
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
REPLACES = (*DEFINES, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)  # nothing is left of what a name was
ASKS = {"input", "getpass", "get_ipython"}  # what these answered cannot be had again
AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<generic parameters")  # code that runs where it is
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)  # from compile(), of whatever text


@dataclass(frozen=True)
class Source:
    """A function by its source.

    steps   the statements that make it, compiled, in the order in which they were executed
    texts   what stands in their files, by the name that a traceback gives
    values  what no statement makes, by name: it travels by value
    code    of the function itself; None if it is no `def`
    """

    name: str
    steps: tuple[CodeType, ...]
    texts: Mapping[str, str] = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    code: CodeType | None = None

    @property
    def codes(self) -> list[CodeType]:
        """All that travels as code, functions in functions too."""
        found = [*self.steps, *([self.code] if self.code else ())]
        for code in found:  # which grows meanwhile
            found += [const for const in code.co_consts if isinstance(const, CodeType) and const not in found]
        return found

    @property
    def names(self) -> set[str]:
        """Every global and attribute that it mentions."""
        return {name for code in self.codes for name in code.co_names}

    @property
    def modules(self) -> tuple[str, ...]:
        """Installed modules that it imports anywhere; those of the student's own are not among them."""
        asked = (name for code in self.codes for name in _imported(code))
        return tuple(name for name in dict.fromkeys(asked) if _is_installed(name))

    @property
    def runs_nothing(self) -> str:
        """What it is, if a call of it does nothing by itself, and no decorator sees to that; "" if it does."""
        made_by = (one for step in self.steps if self.code in step.co_consts for one in dis.get_instructions(step))
        if not self.code or any(one.opname.startswith("CALL") for one in made_by):
            return ""
        if self.code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            return "an `async def`"
        return "a generator (it has a `yield`)" if self.code.co_flags & inspect.CO_GENERATOR else ""

    def line(self, number: int, file: str | None = None) -> str:
        """A line of that file, or of the one that the function stands in; "" where it is not to be had."""
        file = file or (self.code.co_filename if self.code else "")
        lines = self.texts[file].splitlines() if file in self.texts else linecache.getlines(file)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@dataclass
class _Statement:
    """A statement at the top level of a cell, and the global names that it has to do with.

    binds     what it makes; if it `replaces`, nothing is left of what was there before
    touches   whose object it changes: `Table._fields_ = …`, `rows.append(1)`
    now       what it looks up; `later`: what its functions look up when they are called
    """

    step: CodeType
    binds: set[str]
    replaces: bool
    touches: set[str]
    now: set[str]
    later: set[str]


def of(function: Any, name: str) -> Source:
    """Of a function that was handed over, from the kernel's cells or its own file; by value if it stands in neither.

    `name` is what it should be called. TypeError names a variable that cannot travel.
    """
    for cells, space in _places(function):
        names = (name, getattr(function, "__name__", name), *reversed(space))
        called = next((one for one in names if space.get(one) is function), None)
        try:
            return taken(cells, called, space)
        except LookupError:
            pass
    return Source(name, (), {}, {name: function}, getattr(function, "__code__", None))


def taken(cells: Sequence[Cell], name: str | None, space: Mapping[str, Any] | None = None) -> Source:
    """What `name` needs of the cells, which come in the order in which they were executed: the last definition counts.

    Passed over are cells that are not Python (a line with `!` or `%` is: a call of get_ipython) and statements that ask
    for a verdict. What no statement makes is taken from `space`, and so is what one had from a person. LookupError if
    no cell makes `name`; TypeError names what of `space` cannot travel.
    """
    space, statements = space or {}, list(_statements(cells, name))
    made = set().union(*(one.binds for one in statements))
    asked = set().union(*(one.binds for one in statements if one.now & ASKS))
    if name not in made:
        raise LookupError(f"no cell defines {name!r}")
    end, values = len(statements), {}
    wanted, seen, todo = set(), set(), [(name, end)]  # a name, as it is before that statement
    while todo:
        one, before = todo.pop()
        if (one, before) in seen:
            continue
        seen.add((one, before))
        if one in space and not hasattr(builtins, one) and one not in ASKS and (one in asked or not made & {one, "*"}):
            values[one] = _that_travels(one, space[one])
            continue
        for at in _makers(statements, one if one in made or hasattr(builtins, one) else "*", before):
            wanted.add(at)
            todo += [(need, at) for need in statements[at].now]
            todo += [(need, moment) for need in statements[at].later for moment in (before, end)]
    steps = tuple(statements[at].step for at in sorted(wanted))
    codes = [code for step in steps for code in step.co_consts if isinstance(code, CodeType) and code.co_name == name]
    files = {step.co_filename for step in steps}
    return Source(name, steps, {file: text for file, text in cells if file in files}, values, (codes or [None])[-1])


def _makers(statements: list[_Statement], name: str, before: int) -> Iterator[int]:
    """Which of the statements before that one made what the name is there."""
    for at in reversed(range(before)):
        one = statements[at]
        if name in one.binds or name in one.touches:
            yield at
        if name in one.binds and one.replaces:
            return


# --- reading ----------------------------------------------------------------------------------------------------
def _statements(cells: Sequence[Cell], name: str) -> Iterator[_Statement]:
    flags, imported, verdicts, effects = 0, set(), set(), {}
    for file, text in cells:
        for node in _parsed(text):
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= sum(getattr(__future__, alias.name).compiler_flag for alias in node.names)
                continue
            if not (one := _statement(node, file, flags)) or one.now & verdicts:
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported |= one.binds
                verdicts |= one.binds if str(getattr(node, "module", "")).startswith("helpers.teach") else set()
            elif isinstance(node, ast.Expr):
                one.touches -= imported  # the call of a module's function: plt.plot(…)
            if isinstance(node, DEFINES):
                effects |= dict.fromkeys(one.binds, (_set_later(one.step), _changed(node.body) & (one.now | one.later)))
            if (isinstance(node, ast.Expr) and name not in one.now) or getattr(node, "decorator_list", ()):
                for called in one.now & effects.keys():
                    one.binds |= effects[called][0]
                    one.touches |= effects[called][1]
                    one.replaces &= not effects[called][0]
            yield one


@cache
def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a cell; none if it is not Python."""
    text = re.sub(r"\A\s*%%(time|capture)\b.*", "", text)
    with warnings.catch_warnings(action="ignore"):
        try:
            return ast.parse(text).body
        except NOT_PYTHON:
            pass
        try:
            from IPython.core.inputtransformer2 import TransformerManager

            return ast.parse(TransformerManager().transform_cell(text)).body
        except (ImportError, *NOT_PYTHON):
            return []


def _statement(node: ast.stmt, file: str, flags: int) -> _Statement | None:
    """None if it cannot be compiled by itself: an `await`."""
    try:
        with warnings.catch_warnings(action="ignore"):
            step = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
    except NOT_PYTHON:
        return None
    found = {when: {name for name, moment in _looked_up(step) if moment == when} for when in ("now", "later")}
    makes = ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME")
    binds = {one.argval for one in dis.get_instructions(step) if one.opname in makes}
    binds |= {"*"} if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" else set()
    parts = isinstance(node, ast.Import) and any("." in alias.name for alias in node.names)  # a.b, beside a.c
    within = getattr(node, "decorator_list", ()) if isinstance(node, DEFINES) else [node]
    touches = _changed(within) & (found["now"] | found["later"])
    return _Statement(step, binds, isinstance(node, REPLACES) and not parts, touches, found["now"], found["later"])


def _looked_up(code: CodeType, when: str = "now") -> Iterator[tuple[str, str]]:
    """The global names that code looks up or deletes, and when: "now", or "later", in a function."""
    for step in dis.get_instructions(code):
        if step.opname.startswith(("LOAD", "DELETE")) and step.opname.endswith(("_NAME", "_GLOBAL", "_GLOBALS")):
            yield step.argval, when
    for const in code.co_consts:
        if isinstance(const, CodeType):
            at_once = const.co_name.startswith(AT_ONCE) or not const.co_flags & 1  # CO_OPTIMIZED: not so in a class
            yield from _looked_up(const, when if at_once else "later")


def _set_later(code: CodeType) -> set[str]:
    """What its functions declare `global` and set."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    sets = {one.argval for const in inner for one in dis.get_instructions(const) if one.opname == "STORE_GLOBAL"}
    return sets.union(*map(_set_later, inner))


def _changed(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of objects that these statements, or decorators, change: by an attribute, an item, or a method."""
    found = set()
    for node in (part for one in nodes for part in ast.walk(one)):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
            sets = isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr") and call.args
            found.add(_root(call.args[0]) if sets else _root(call.func) if isinstance(call.func, ast.Attribute) else "")
    return found | {_root(getattr(one, "func", one)) for one in nodes if isinstance(one, ast.expr)}


def _root(node: ast.AST) -> str:
    """`a` of `a.b[c].d`; "" if it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# --- modules ----------------------------------------------------------------------------------------------------
def _imported(code: CodeType) -> Iterator[str]:
    """The modules that code imports, and what may be a module in one: `a`, `a.b` for `from a import b`."""
    module = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module = step.argval
            yield module
        elif step.opname == "IMPORT_FROM":
            yield f"{module}.{step.argval}"


def _is_installed(name: str) -> bool:
    """Does this module lie with Python, its packages, or these lessons? Found without importing anything."""
    path, parts = None, name.split(".")
    for end in range(1, len(parts) + 1):
        found = _spec(".".join(parts[:end]), path)
        if found is None or (end == 1 and not _lies_with_python(found)):
            return False
        path = found.submodule_search_locations
        if path is None and end < len(parts):
            return False
    return True


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """What an import in a fresh process would find, unlike find_spec(), which looks at what is imported here."""
    with suppress(Exception):
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        return next(filter(None, (finder.find_spec(name, path) for finder in finders)), None)
    return None


def _lies_with_python(found: ModuleSpec) -> bool:
    folders = [found.origin] if found.has_location else list(found.submodule_search_locations or ())
    return all(any(Path(one).resolve().is_relative_to(place) for place in _with_python()) for one in folders)


@cache
def _with_python() -> list[Path]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return [Path(path).resolve() for path in (*paths, *site.getsitepackages(), site.getusersitepackages(), HELPERS)]


# --- at home ----------------------------------------------------------------------------------------------------
def _places(function: Any) -> Iterator[tuple[list[Cell], Mapping[str, Any]]]:
    """The cells that a function may stand in, and their global names: the kernel's, and those of its own file."""
    if shell := sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None:
        history = enumerate(shell.history_manager.input_hist_raw)
        yield [(f"<In [{number}]>", text) for number, text in history], shell.user_ns
    inner = inspect.unwrap(function)
    inner = inner if hasattr(inner, "__code__") else inspect.getattr_static(type(inner), "__call__", None)
    space = getattr(inner, "__globals__", {})
    module = sys.modules.get(space.get("__name__"))
    if hasattr(inner, "__code__") and (module is None or module.__name__ == "__main__" or vars(module) is not space):
        file = inner.__code__.co_filename
        yield [(file, "".join(linecache.getlines(file)))], space


def _that_travels(name: str, value: Any) -> Any:
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        why = "no cell makes it from its source. Open files, mappings and locks inside the function"
        raise TypeError(f"`{name}` cannot be carried to a fresh process ({error}), and {why}") from error
    return value
