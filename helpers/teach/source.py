"""The student's function as it travels to its process: the statements that it needs, and nothing that they made.

`taken` finds them in a list of cells: a kernel's history at home, a notebook's cells in class. Nothing of the student's
is executed here.
"""

import builtins
import dis
import inspect
import linecache
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import cloudpickle

from .installed import imported, is_installed
from .statements import Cell, Statement, ended_before, statements

ASKS = {"input", "getpass", "get_ipython", "_", "__", "___"}  # what these returned can't be had again


@dataclass(frozen=True)
class Source:
    """A function as source.

    steps   the statements that make it, compiled, in the order in which they were executed
    texts   the text of their files, by the name that a traceback gives
    values  what no statement makes, by name: it travels by value
    code    of the function itself; None if it isn't a `def`
    """

    name: str
    steps: tuple[CodeType, ...]
    texts: Mapping[str, str] = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    code: CodeType | None = None

    @property
    def codes(self) -> list[CodeType]:
        """All code that travels, nested functions included."""
        found = [*self.steps, *([self.code] if self.code else ())]
        for code in found:  # it grows meanwhile
            found += [const for const in code.co_consts if isinstance(const, CodeType) and const not in found]
        return found

    @property
    def names(self) -> set[str]:
        """Every global and attribute that it mentions."""
        return {name for code in self.codes for name in code.co_names}

    @property
    def modules(self) -> tuple[str, ...]:
        """Installed modules that it imports anywhere; the student's own modules aren't among them."""
        asked = (name for code in self.codes for name in imported(code))
        return tuple(name for name in dict.fromkeys(asked) if is_installed(name))

    @property
    def runs_nothing(self) -> str:
        """What it is, if calling it runs nothing and no decorator changes that; otherwise ""."""
        made_by = (op for step in self.steps if self.code in step.co_consts for op in dis.get_instructions(step))
        if not self.code or any(op.opname.startswith("CALL") for op in made_by):
            return ""
        if self.code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            return "an `async def`"
        return "a generator (it has a `yield`)" if self.code.co_flags & inspect.CO_GENERATOR else ""

    def line(self, number: int, file: str | None = None) -> str:
        """A line of that file, by default the function's own; "" if it can't be had."""
        file = file or (self.code.co_filename if self.code else "")
        lines = self.texts[file].splitlines() if file in self.texts else linecache.getlines(file)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def of(function: Any, name: str) -> Source:
    """The Source of a function, from the kernel's cells or its own file; by value if it stands in neither.

    `name` is what it should be called. Raises TypeError, which names a variable that can't travel.
    """
    inner = inspect.unwrap(function)
    for cells, space, code in _places(inner):
        names = (name, getattr(function, "__name__", name), *reversed(space))
        called = next((known for known in names if space.get(known) is function), None)
        with suppress(LookupError):
            return taken(cells, called, space, code)
    return Source(name, (), {}, {name: function}, getattr(function, "__code__", None))


def taken(
    cells: Sequence[Cell], name: str | None, space: Mapping[str, Any] | None = None, code: CodeType | None = None
) -> Source:
    """What `name` needs from the cells, which come in the order of their execution: the last definition counts.

    Skips cells that aren't Python (a line with `!` or `%` is: it calls get_ipython) and statements that ask for a
    verdict. Takes from `space` what no statement makes, and what a statement got from a person. Of several versions of
    the function, `code` says which is meant. Raises LookupError if no cell makes `name`, and TypeError, which names
    what in `space` can't travel.
    """
    space = space or {}
    found = _until(code, list(statements(cells, name)), name)
    made = set().union(*(statement.binds for statement in found))
    asked = set().union(*(statement.binds for statement in found if statement.now & ASKS))
    if name not in made:
        raise LookupError(f"no cell defines {name!r}")
    values: dict[str, Any] = {}
    wanted, seen, todo = set(), set(), [(name, len(found))]  # a name, as it is before that statement
    while todo:
        need, before = todo.pop()
        if (need, before) in seen:
            continue
        seen.add((need, before))
        known = hasattr(builtins, need) or need in ASKS
        if need in space and not known and (need in asked or not made & {need, "*"}):
            values[need] = _that_travels(need, space[need])
            continue
        for at in _makers(found, need if need in made or known else "*", before):
            wanted.add(at)
            todo += [(more, at) for more in found[at].now]
            todo += [(more, moment) for more in found[at].later for moment in (before, len(found))]
    carried = [found[at] for at in sorted(wanted)]
    files = {statement.step.co_filename for statement in carried}
    return Source(
        name,
        steps=tuple(statement.step for statement in carried),
        texts={file: text for file, text in cells if file in files},
        values=values,
        code=next(filter(None, (statement.function(name) for statement in reversed(carried))), None),
    )


def _until(code: CodeType | None, found: list[Statement], name: str | None) -> list[Statement]:
    """`found` without the function's versions after the version with this code: they haven't been executed yet."""
    if not code or code.co_name != name:
        return found
    versions = {at: made for at, statement in enumerate(found) if (made := statement.function(name))}
    last = max((at for at, made in versions.items() if shape(made) == shape(code)), default=-1)
    return [statement for at, statement in enumerate(found) if at not in versions or at <= last]


def shape(code: CodeType) -> tuple:
    """What a function does, wherever it stands."""
    consts = tuple(shape(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts)
    return code.co_code, code.co_names, consts


def _makers(found: list[Statement], name: str, before: int) -> Iterator[int]:
    """The statements before that place that made what the name is there."""
    for at in reversed(range(before)):
        if name in found[at].binds | found[at].touches:
            yield at
        if name in found[at].binds and found[at].replaces:
            return


def _places(function: Any) -> Iterator[tuple[list[Cell], Mapping[str, Any], CodeType | None]]:
    """The cells that a function may stand in, and their global names: the kernel's, and those of its own file.

    The kernel's come with the function's code, because a cell may hold several versions, and the last may not have been
    executed yet. A file has one version; and it is compiled whole, which makes other code than its statements do.
    """
    if shell := running_shell():
        texts = enumerate(shell.history_manager.input_hist_raw)
        cells = [(f"<In [{number}]>", ended_before(_failed_at(shell, number), text)) for number, text in texts]
        yield cells, shell.user_ns, getattr(function, "__code__", None)
    runs = function if hasattr(function, "__code__") else inspect.getattr_static(type(function), "__call__", None)
    space = getattr(runs, "__globals__", {})
    module = sys.modules.get(space.get("__name__"))
    if hasattr(runs, "__code__") and (module is None or module.__name__ == "__main__" or vars(module) is not space):
        file = runs.__code__.co_filename
        yield [(file, "".join(linecache.getlines(file)))], space, None


def running_shell() -> Any:
    """The IPython that this runs in: a kernel's or a terminal's; None in plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _failed_at(shell: Any, number: int) -> int | None:
    """The line at which this cell raised, as its traceback says; None if it didn't, or nothing tells."""
    failed = getattr(shell.history_manager, "exceptions", {}).get(number, {})
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(failed.get("traceback", ())))
    lines = re.findall(rf"\bIn ?\[{number}\], line (\d+)\n", trace)  # "…, line 3, in f()" is another frame
    return int(lines[-1]) if lines else None


def _that_travels(name: str, value: Any) -> Any:
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        why = "no cell makes it from its source. Make it inside the function, or in a cell without `%`, `!` and `await`"
        raise TypeError(f"`{name}` cannot be carried to a fresh process ({error}), and {why}") from error
    return value
