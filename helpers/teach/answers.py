"""Which function is a student's answer: one rule, for the cells of a notebook and for those that a kernel has run.

It is what the last cell with `exercise("02.chunks").check(copy_small)` hands over, if that's an attempt.
"""

import ast
import inspect
import linecache
import re
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

from ..kernel import running_shell
from .source import DEFINES, Cell, NotCarried, Source, Statement, makers, parsed, source_of, statements


def answer(exercise: Any, cells: Sequence[Cell], in_kernel: Collection[str] = ()) -> Source | None:
    """The answer to an Exercise in a notebook with these cells, whose kernel has these names; None if it has none.

    The last attempt that they check; or else the last that they define by the name asked for; or else what isn't an
    attempt. Raises NotCarried if it can't be judged away from the notebook.
    """
    program, other = [*statements(cells)], None
    checked = [*_checked(program, exercise.key)]
    defined = [at for at in reversed(range(len(program))) if exercise.name in program[at].binds]
    for number, (at, value) in enumerate([*checked, *((at, ast.Name(exercise.name)) for at in defined)]):
        source = source_of(program, at, value, exercise.name, in_kernel)
        if source and exercise.is_attempt(source.code):
            below = [one.code(source.name) for one in program[at + 1 :] if number < len(checked)]
            again = [code for code in below if code and exercise.is_attempt(code) and not is_same(code, source.code)]
            return replace(source, again=again[-1].co_filename if again else None)
        other = other or source
    return other


def handed_over(function: Any, name: str, key: str) -> Source:
    """What the running cell, or a file, hands over to the check of exercise `key`, which asks for `name`.

    Raises NotCarried if nothing shows its source, or if it can't be judged away from the notebook.
    """
    for cells, space, in_kernel in _places(function):
        program = [*statements(cells)]
        here = (one for one in _checked(program, key) if program[one[0]].step.co_filename == cells[-1][0])
        called = next((known for known in (name, *space) if space.get(known) is function), "")
        at, value = next(here, (len(program) - 1, ast.Name(called)))
        if source := source_of(program[: at + 1], at, value, name, in_kernel):
            return source
    raise NotCarried(f"no cell shows its source. Define `{name}` in a cell, and hand over that.")


def in_the_kernel() -> Collection[str]:
    """The names that this kernel's cells have made in any way."""
    shell = running_shell()
    return shell.user_ns.keys() - shell.user_ns_hidden.keys() if shell else ()


def is_same(code: CodeType, other: CodeType | None) -> bool:
    """Do these functions do the same, wherever they stand?"""
    return other is not None and _shape(code) == _shape(other)


def _shape(code: CodeType) -> tuple:
    consts = tuple(_shape(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts)
    return code.co_code, code.co_names, consts


def _checked(program: Sequence[Statement], key: str) -> Iterator[tuple[int, ast.expr]]:
    """The statements that check the exercise, the last first, and what each hands over."""
    for at in reversed(range(len(program))):
        for call in () if isinstance(program[at].node, DEFINES) else ast.walk(program[at].node):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "check" and call.args:
                by = makers(program[:at], getattr(call.func.value, "id", ""))  # one = exercise("02.chunks")
                parts = ast.walk(by[-1].node if by else call.func.value)
                is_own = getattr(call.args[0], "id", "") in program[at].binds  # for one in (first, second): …
                if not is_own and any(getattr(part, "value", None) == key for part in parts):
                    yield at, call.args[0]


def _places(function: Any) -> Iterator[tuple[list[Cell], Mapping[str, Any], Collection[str]]]:
    """Where its source may stand: the cells that this kernel ran, or its file; the names there; and those to be told if
    no cell makes them."""
    if shell := running_shell():
        texts = enumerate(shell.history_manager.input_hist_raw)
        cells = [(f"<In [{number}]>", _as_run(shell, number, text)) for number, text in texts]
        yield cells, shell.user_ns, in_the_kernel()
    runs = inspect.unwrap(function)
    runs = runs if hasattr(runs, "__code__") else inspect.getattr_static(type(runs), "__call__", None)
    if hasattr(runs, "__code__"):
        file = runs.__code__.co_filename
        yield [(file, "".join(linecache.getlines(file)))], runs.__globals__, ()


def _as_run(shell: Any, number: int, text: str) -> str:
    """The part of a cell that was executed: to the statement that raised, or through the one that runs now."""
    frames = (frame for frame, _ in traceback.walk_stack(None) if frame.f_globals is shell.user_ns)
    lines = [frame.f_lineno for frame in frames if frame.f_code.co_name == "<module>"]
    running = lines[:1] if number == len(shell.history_manager.input_hist_raw) - 1 else []
    failed = getattr(shell.history_manager, "exceptions", {}).get(number, {})
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(failed.get("traceback", ())))
    raised = re.findall(rf"\bIn ?\[{number}\], line (\d+)\n", trace)  # "…, line 3, in f()" is another frame
    if not running and not raised:
        return text
    line = int([*raised, *running][-1]) + text.lstrip().startswith("%%")  # which counts from the line after it
    ended = [node.end_lineno for node in parsed(text) if (node.lineno if running else node.end_lineno + 1) <= line]
    return "\n".join(text.split("\n")[: max(ended, default=0)])
