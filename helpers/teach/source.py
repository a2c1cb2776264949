"""Which function is a student's answer, and what it needs of a notebook's cells: the imports and
the definitions that it names, as source. Nothing is executed here. The answer is what the last cell
with `exercise("02.chunks").check(copy_small)` hands over, if that's an attempt: one rule, for the
cells of a notebook and for those that a kernel has run.
"""

import ast
import builtins
import dis
import inspect
import linecache
import re
import site
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

from ..kernel import running_shell

Cell = tuple[str, str]  # the file that a traceback names, and its text
# from compile(), whatever the text
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINES = (*IMPORTS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)
PYTHON = (sys.prefix, sys.base_prefix, site.getusersitepackages(), Path(__file__).parents[1])
# its other rooms measure, make files or ask
COURSE = "helpers."
ANYWHERE = ("helpers.units", "helpers.ideas")
# what these gave can't be had again
ASKS = {"input", "getpass", "open", "get_ipython", "In", "Out", "_", "__", "___"}
AWAY = "your function is called in a fresh process, here and in class, and `{0}` isn't there: "
ONLY_THERE = (
    AWAY
    + "your notebook made it with `{1}`. Write its value into the function, as in `{0} = 4 * MiB`."
)
NO_CELL = (
    AWAY + "no cell shows how it's made. Define it in a cell, or write its value into the function."
)
OWN_FILE = (
    "`{0}` comes neither with Python nor with the course, and isn't handed in. Copy what you need "
    "into a cell."
)


class NotCarried(Exception):
    """Why an answer can't be judged away from the notebook, and what to write instead, in words for
    the student.
    """


@dataclass(frozen=True)
class Source:
    """A function as source."""

    name: str
    # the statements that make it, compiled, in the order of their execution
    steps: tuple[CodeType, ...]
    # the text of their files, by the name that a traceback gives
    texts: Mapping[str, str] = field(repr=False)
    modules: tuple[str, ...]  # what they import anywhere, without the student's own modules
    code: CodeType | None  # of the function itself; None if it isn't a `def`
    again: str | None = (
        # the file of a later attempt under the same name, which isn't checked and doesn't count
        None
    )

    @property
    def file(self) -> str:
        """The file that defines it: "<In [12]>" of a kernel, "<cell 31>" of a notebook."""
        return (self.code or self.steps[-1]).co_filename

    @property
    def names(self) -> set[str]:
        """Every global and attribute that it mentions."""
        return {name for step in self.steps for code in _codes(step) for name in code.co_names}

    @property
    def runs_nothing(self) -> str | None:
        """What it is, if calling it runs nothing and no decorator changes that."""
        defining = (
            op
            for step in self.steps
            if self.code in step.co_consts
            for op in dis.get_instructions(step)
        )
        if not self.code or any(op.opname.startswith("CALL") for op in defining):
            return None
        if self.code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            return "an `async def`"
        return (
            "a generator (it has a `yield`)" if self.code.co_flags & inspect.CO_GENERATOR else None
        )

    def line(self, number: int, file: str | None = None) -> str:
        """A line of that file, by default the function's own; "" if it has no such line."""
        lines = self.texts.get(file or self.file, "").splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell."""

    node: ast.stmt
    step: CodeType
    text: str

    @cached_property
    def needs(self) -> set[str]:
        """The global names that it looks up, at once or when one of its functions is called."""
        steps = (op for code in _codes(self.step) for op in dis.get_instructions(code))
        return {
            op.argval
            for op in steps
            if re.fullmatch("LOAD_(NAME|GLOBAL|FROM_DICT_OR_GLOBALS)", op.opname)
        }

    @cached_property
    def makes(self) -> set[str]:
        """The names that stand for something else after it; "*" for any."""
        steps = dis.get_instructions(self.step)
        star = {"*"} & {alias.name for alias in getattr(self.node, "names", ())}
        return star | {op.argval for op in steps if op.opname in ("STORE_NAME", "STORE_GLOBAL")}

    @cached_property
    def changes(self) -> set[str]:
        """The names whose objects it changes by an attribute, an item or a method, as in
        `Table._fields_ = …`, `rows.append(1)`.
        """
        names = set()
        for part in () if isinstance(self.node, DEFINES) else ast.walk(self.node):
            inside = part
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                inside = part.value.func
            elif not isinstance(getattr(part, "ctx", None), ast.Store | ast.Del):
                continue
            while isinstance(inside, ast.Attribute | ast.Subscript):
                inside = inside.value
                names.add(getattr(inside, "id", ""))
        return names - {""}

    @property
    def runs(self) -> bool:
        """Does it compute something, rather than define or rename it?"""
        value = getattr(self.node, "value", None)
        renames = isinstance(value, ast.Lambda) or getattr(value, "id", "_")[0] != "_"
        return not renames and not isinstance(self.node, DEFINES)

    def makes_anew(self, name: str) -> bool:
        """Is nothing left of what the name stood for?"""
        if name not in self.makes or not isinstance(self.node, (*DEFINES, *ASSIGNS)):
            return False
        # xml.dom, and *
        adds = any({".", "*"} & {*alias.name} for alias in getattr(self.node, "names", ()))
        return not adds and (isinstance(self.node, DEFINES) or name not in self.needs)

    def code(self, name: str) -> CodeType | None:
        """The code of the function of that name, if this is its `def`."""
        defs = (
            code
            for code in _codes(self.step)
            if code.co_name == name and code.co_flags & inspect.CO_OPTIMIZED
        )
        return next(defs, None)


def answer(exercise: Any, cells: Sequence[Cell], in_kernel: Collection[str] = ()) -> Source | None:
    """The answer to an Exercise in a notebook with these cells, whose kernel has these names; None
    if it has none: the last attempt that they check; or else the last that they define by the name
    asked for; or else what isn't an attempt. Raises NotCarried if it can't be judged away from the
    notebook.
    """
    program = [*statements(cells)]
    other = None
    checked = [*_checked(program, exercise.key)]
    defined = [
        (at, ast.Name(exercise.name))
        for at in reversed(range(len(program)))
        if exercise.name in program[at].makes
    ]
    for number, (at, value) in enumerate([*checked, *defined]):
        source = source_of(program, at, value, exercise.name, in_kernel)
        if source and exercise.is_attempt(source.code):
            below = [one.code(source.name) for one in program[at + 1 :] if number < len(checked)]
            again = [
                code
                for code in below
                if code and exercise.is_attempt(code) and not is_same(code, source.code)
            ]
            return replace(source, again=again[-1].co_filename if again else None)
        other = other or source
    return other


def handed_over(function: Any, name: str, key: str) -> Source:
    """What the running cell, or a file, hands over to the check of exercise `key`, which asks for
    `name`. Raises NotCarried if nothing shows its source, or if it can't be judged away from the
    notebook.
    """
    for cells, space, in_kernel in _places(function):
        program = [*statements(cells)]
        called = next((known for known in (name, *space) if space.get(known) is function), "")
        here = [
            (at, of)
            for at, of in _checked(program, key)
            if program[at].step.co_filename == cells[-1][0]
        ]
        at, value = here[0] if here else (len(program) - 1, ast.Name(called))
        if source := source_of(program[: at + 1], at, value, name, in_kernel):
            return source
    raise NotCarried(f"no cell shows its source. Define `{name}` in a cell, and hand that over.")


def in_the_kernel() -> Collection[str]:
    """The names that this kernel's cells have made in any way."""
    shell = running_shell()
    return shell.user_ns.keys() - shell.user_ns_hidden.keys() if shell else ()


def is_same(code: CodeType, other: CodeType | None) -> bool:
    """Do these functions do the same, wherever they stand?"""
    return other is not None and _shape(code) == _shape(other)


def _shape(code: CodeType) -> tuple:
    consts = tuple(
        _shape(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts
    )
    return code.co_code, code.co_names, consts


def _checked(program: Sequence[Statement], key: str) -> Iterator[tuple[int, ast.expr]]:
    """The statements that check the exercise, the last first, and what each hands over."""
    for at in reversed(range(len(program))):
        for call in () if isinstance(program[at].node, DEFINES) else ast.walk(program[at].node):
            match call:
                case ast.Call(ast.Attribute(asked, "check"), [value, *_]):
                    by = makers(program[:at], getattr(asked, "id", ""))
                    parts = ast.walk(by[-1].node if by else asked)  # one = exercise("02.chunks")
                    # for one in (first, second): …
                    is_own = getattr(value, "id", "") in program[at].makes
                    if not is_own and any(getattr(part, "value", None) == key for part in parts):
                        yield at, value


def _places(function: Any) -> Iterator[tuple[list[Cell], Mapping[str, Any], Collection[str]]]:
    """Where its source may stand: the cells that this kernel ran, or its file; the names there; and
    those to be told if no cell makes them.
    """
    if shell := running_shell():
        *before, last = shell.history_manager.input_hist_raw
        texts = enumerate([*before, _so_far(shell, last)])
        cells = [(f"<In [{number}]>", text) for number, text in texts]
        yield cells, shell.user_ns, in_the_kernel()
    runs = inspect.unwrap(function)
    if not hasattr(runs, "__code__"):
        runs = inspect.getattr_static(type(runs), "__call__", None)
    if hasattr(runs, "__code__"):
        file = runs.__code__.co_filename
        yield [(file, "".join(linecache.getlines(file)))], runs.__globals__, ()


def running_cell(shell: Any) -> int:
    """The number of the cell that runs now, or ran last."""
    return len(shell.history_manager.input_hist_raw) - 1


def _so_far(shell: Any, text: str) -> str:
    """The running cell through the statement that runs now."""
    for frame, _ in traceback.walk_stack(None):
        if frame.f_globals is shell.user_ns and frame.f_code.co_name == "<module>":
            # the line after %%time is the first
            line = frame.f_lineno + text.lstrip().startswith("%%")
            ended = [node.end_lineno for node in parsed(text) if node.lineno <= line]
            return "\n".join(text.split("\n")[: max(ended, default=0)])
    return text


def source_named(cells: Sequence[Cell], name: str) -> Source | None:
    """What the cells define as `name`, last; None if they don't."""
    program = [*statements(cells)]
    return source_of(program, len(program) - 1, ast.Name(name), name)


def statements(cells: Sequence[Cell]) -> Iterator[Statement]:
    """The statements of the cells that compile by themselves."""
    for file, text in cells:
        for node in parsed(text):
            with suppress(*NOT_PYTHON):
                yield _statement(node, file, text)


@lru_cache(2000)
def parsed(text: str) -> list[ast.stmt]:
    """The statements of a cell; none if it isn't Python, with or without IPython's own lines."""
    text = re.sub(r"\A\s*%%(time|capture)\b.*", "", text)
    with suppress(*NOT_PYTHON):
        return ast.parse(text).body
    with suppress(ImportError, *NOT_PYTHON):
        from IPython.core.inputtransformer2 import TransformerManager

        return ast.parse(TransformerManager().transform_cell(text)).body
    return []


def not_python(cells: Sequence[Cell], name: str) -> str | None:
    """What keeps a cell that defines the function from being Python; None if there is no such
    cell.
    """
    for file, text in reversed(cells):
        if re.search(rf"^[ \t]*def {re.escape(name)}\b", text, re.M):
            try:
                compile(text, "", "exec", dont_inherit=True)
            except NOT_PYTHON as error:
                line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
                reason = getattr(error, "msg", "") or str(error) or type(error).__name__
                return (
                    f"{file.strip('<>')}, which defines `{name}`, isn't valid Python{line}: "
                    f"{reason}."
                )
    return None


def makers(program: Sequence[Statement], name: str) -> list[Statement]:
    """The statements that make what the name stands for after all of these."""
    by = [one for one in program if name in one.makes or name in one.changes]
    by = by[max((at for at, one in enumerate(by) if one.makes_anew(name)), default=0) :]
    if by and isinstance(by[0].node, IMPORTS):
        # its functions don't change it: os.remove(path)
        return [one for one in by if isinstance(one.node, (*IMPORTS, *ASSIGNS))]
    return by


def source_of(
    program: Sequence[Statement],
    at: int,
    value: ast.expr,
    name: str,
    in_kernel: Collection[str] = (),
) -> Source | None:
    """What an expression in statement `at` gives, by its own name or, without one, as `name`; None
    if nothing makes it. With it goes what it needs, each as last written up to that statement, or
    else below. `in_kernel` are the names that the notebook has, by whatever way. Raises NotCarried
    for what can't be had away from the notebook.
    """
    above = program[: at + 1]
    below = program[at + 1 :]
    steps = {}
    visited = set()
    if isinstance(value, ast.Name):
        name = value.id
    else:
        made = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value)
        here = above[-1].step.co_filename, above[-1].text
        above = [*above, _statement(ast.fix_missing_locations(made), *here)]

    def carry(need: str, value: str) -> None:
        """`value` is what is computed from this name when its cell runs; "" if that only defines
        something.
        """
        if (need, value) in visited:
            return
        visited.add((need, value))
        by = makers(above, need) or makers(below, need)
        if not by and not hasattr(builtins, need):
            by = makers(program, "*")
        if not by and need in in_kernel and need != name:
            raise NotCarried(NO_CELL.format(need))
        for one in by:
            for module in imported(one.node):
                if not _is_installed(module):
                    raise NotCarried(OWN_FILE.format(module))
                if value and module.startswith(COURSE) and not module.startswith(ANYWHERE):
                    raise NotCarried(ONLY_THERE.format(value, need))
            computed = value
            if one.runs:
                computed = value or need
                if asks := sorted(one.needs & ASKS):
                    raise NotCarried(ONLY_THERE.format(computed, asks[0]))
                if one.step.co_flags & inspect.CO_COROUTINE:
                    raise NotCarried(ONLY_THERE.format(computed, "await"))
            for more in sorted(one.needs):
                carry(more, computed)
            steps[id(one)] = one

    carry(name, "")
    if not steps:
        return None
    found = {
        module for one in steps.values() for part in ast.walk(one.node) for module in imported(part)
    }
    return Source(
        name,
        steps=tuple(one.step for one in steps.values()),
        texts={one.step.co_filename: one.text for one in steps.values()},
        modules=tuple(sorted(filter(_is_installed, found))),
        code=next((code for one in reversed(steps.values()) if (code := one.code(name))), None),
    )


@lru_cache(20_000)
def _statement(node: ast.stmt, file: str, text: str) -> Statement:
    """Raises one of NOT_PYTHON if it doesn't compile."""
    with warnings.catch_warnings(action="ignore"):
        module = ast.Module([node], [])
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return Statement(node, compile(module, file, "exec", flags, dont_inherit=True), text)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def imported(node: ast.AST) -> list[str]:
    """The modules that it imports, if it's an import, and names that may be modules in them."""
    if isinstance(node, ast.ImportFrom):
        return [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def _is_installed(module: str) -> bool:
    """Does it come with Python, its packages or these lessons? Imports nothing."""
    with suppress(Exception):
        origin = find_spec(module.partition(".")[0]).origin
        return origin in ("built-in", "frozen") or any(
            Path(origin).is_relative_to(place) for place in PYTHON
        )
    return False
