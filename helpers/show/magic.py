"""`%measure f(x)` and `%%measure`: the curves and the meters of your own code, used as `%memit` is.

`%load_ext helpers` brings them. The line, or the cell, becomes one function, and `compare` runs that in a fresh
process. What it uses of the notebook travels by value, as it is now, and is there before anything is measured.
"""

import ast
import dis
import io
import linecache
import pickle
import re
import traceback
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from functools import _lru_cache_wrapper
from importlib.util import find_spec
from inspect import CO_COROUTINE
from textwrap import shorten
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display
from IPython.utils.process import arg_split

from ..measure.account import AT_THE_END, STACK, notes, rows
from ..measure.run import compare, imports_of_ours
from ..measure.travel import Pickler, found_by_name
from ..owners import is_a
from .curves import curves
from .meters import Table
from .words import ended

LOCAL_NAME = "A name that the cell assigns is the cell's own, all through the cell: use another name for what it makes"
LOCAL_FUNCTION = "Process pools and pickle look functions up by name: define `{}` in a cell above, and use it here"
BROKEN_POOL = (
    "If its processes aren't forked, they find no function of a notebook: from Python 3.14 on, pass "
    "mp_context=multiprocessing.get_context('fork'), or put the function in a file"
)
NOTEBOOK_ONLY = {
    "get_ipython": "a line with `%` or `!` works in the notebook only; use subprocess, or a cell of its own",
    "display": "`display` works in the notebook only; use print, or make it the last expression",
}
INSTEAD = "Pass a path, and open or make it in what you measure"


class TextOnly:
    """IPython shows the text of such an error, and no line of ours."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class Raised(TextOnly, Exception):
    """What the measured code raised, with the traceback from there."""


class Interrupted(TextOnly, KeyboardInterrupt):
    """The reader has stopped the run."""


def names(text: str) -> list[str]:
    """ "a,b" as a list of modules that are there."""
    for name in text.split(","):
        if not find_spec(name.partition(".")[0]):
            raise ArgumentTypeError(f"there is no module {name!r}")
    return text.split(",")


@magics_class
class Measuring(Magics):
    @no_var_expand
    @magic_arguments()
    @argument("-r", "--repeat", type=int, default=1, help="runs, each in a fresh process; the fastest is drawn")
    @argument("-i", "--interval", type=float, default=0.001, help="seconds between two samples, 0.001 if not given")
    @argument("-t", "--timeout", type=float, default=60, help="seconds until a run is stopped, 60 if not given")
    @argument("-o", "--output", action="store_true", help="return the Recording of the fastest run, not the value")
    @argument("-q", "--quiet", action="store_true", help="show neither curves nor table")
    @argument(
        "-c", "--include-children", action="store_true", help="accepted, but not needed: their own memory always counts"
    )
    @argument("--heap", action="store_true", help="run it once more, under tracemalloc, for the peak of the heap")
    @argument("--stack", action="store_true", help="run it once more, traced, for the Python stack at the peak")
    @argument("--warm", action="store_true", help="call it once before, unmeasured: no first imports, full caches")
    @argument("--modules", type=names, default=[], help="modules to import before: --modules pandas,pyarrow")
    @argument("-f", "--function", action="append", default=[], help="mark the calls of a function: -f module:function")
    @argument("code", nargs="...", help="a line of Python; with %%%%measure it is the rest of the cell")
    @line_cell_magic
    def measure(self, line: str, cell: str | None = None) -> Any:
        """Measure a line, or with %%measure a cell, in a fresh process: memory over time, and every meter.

        It returns the value of the last expression, if that can come back; what a cell assigns doesn't come back.
        Open files, mappings and locks can't be carried there: pass paths. Imports in the cell count, those of the
        notebook don't. Of processes that it starts, memory of their own counts (%memit asks a -c for that), and nothing
        else. Interrupting ends them all.

        `mark("decoded")`, from helpers.measure, marks a moment inside, which the picture and the table then show.
        """
        words = arg_split(line, strict=False)
        options = Measuring.measure.parser.parse_args(words)
        code = line.split(None, len(words) - len(options.code))[-1] if options.code else ""
        if cell is not None and code:
            raise UsageError(f"%%measure takes options only, not {code!r}: what a cell above makes is carried there")
        if not (cell or code).strip():
            raise UsageError("nothing to measure: write %measure f(x), or %%measure and code below it")
        if options.repeat < 1:
            raise UsageError(f"-r is how many runs, 1 or more, not {options.repeat}")
        number = len(self.shell.history_manager.input_hist_raw) - 1
        name = f"Cell In[{number}]" if cell else shorten(code, 60)
        function, assigned, ours = self._function(f"# %%measure\n{cell}" if cell else code, number)
        user = "the cell" if cell else "the line"
        for problem in not_carried(function, user):
            raise UsageError(problem)
        how = {each: getattr(options, each) for each in ("repeat", "heap", "stack", "warm", "interval", "timeout")}
        try:
            runs = compare(
                {name: function}, objects=True, modules=options.modules + ours, calls=options.function, **how
            )
        except (TypeError, ValueError, TimeoutError) as error:
            raise UsageError(next(not_carried(function, user, loaded=True), str(error))) from None
        except KeyboardInterrupt:
            raise Interrupted("KeyboardInterrupt: the run was stopped, with everything that it had started") from None
        if not options.quiet:
            many = f"The fastest of {options.repeat} runs, each in a fresh process." if options.repeat > 1 else ""
            display(curves(runs, caption=many, stays=True))
        if runs[name].ended == "raised":
            raise Raised(self._as_in_the_notebook(runs[name].error, assigned))
        run, all_runs = runs[name], runs.runs[name]
        if not options.quiet:
            heads = [f"run {number}" for number in range(1, options.repeat + 1)]
            header = ("meter", *(heads if options.repeat > 1 else ["measured"]))
            display(Table(f"Growth during the call, in a fresh process. {AT_THE_END}", header, rows(all_runs)))
            for note in notes(run):
                print(note)
        if run.stack:
            print(self._as_in_the_notebook(STACK + run.stack))
        for cached in () if options.warm else with_a_cache(function):
            print(f"`{cached}` has a cache, which was empty there; --warm fills it first.")
        if run.ended != "returned":
            longer = "; -t gives it more seconds, and -i 0.01 takes fewer samples" * (run.ended == "timed out")
            print(f"It didn't return: {ended(run)}{longer}.")
        if assigned and not options.quiet:
            print(f"Assigned in the fresh process only: {', '.join(assigned)}.")
        if run.error:
            print(f"{run.error[0].upper()}{run.error[1:]}.")
        return run if options.output else run.value

    def _function(self, text: str, number: int) -> tuple[FunctionType, list[str], list[str]]:
        """The code of that cell as a function that returns its last expression's value; the names that it assigns; and
        the modules of ours that it imports."""
        compiler, text = self.shell.compile, self.shell.transform_cell(text)
        file = compiler.cache(text, number)
        try:
            tree = compiler.ast_parse(text, file)
            flags = compiler.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            cell = compile(tree, file, "exec", flags, dont_inherit=True)  # which refuses `return` and `yield`
            if tree.body and isinstance(last := tree.body[-1], ast.Expr):
                tree.body[-1] = ast.copy_location(ast.Return(last.value), last)
            awaits = "async " * bool(cell.co_flags & CO_COROUTINE)
            (function,) = compiler.ast_parse(f"{awaits}def measured(): pass", file).body
            function.body = tree.body or function.body
            module = compile(ast.Module([function], []), file, "exec", compiler.flags, dont_inherit=True)
        except SyntaxError as error:
            raise Raised(self._as_in_the_notebook("".join(traceback.format_exception_only(error)))) from None
        code = next(const for const in module.co_consts if isinstance(const, CodeType))
        for name in sorted(NOTEBOOK_ONLY.keys() & global_names(code)):
            if name == "get_ipython" or name not in self.shell.user_ns:
                raise UsageError(NOTEBOOK_ONLY[name])
        assigned = {step.argval for step in dis.get_instructions(cell) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}
        return FunctionType(code, self.shell.user_ns), sorted(assigned), imports_of_ours(tree)

    def _as_in_the_notebook(self, trace: str, assigned: Sequence[str] = ()) -> str:
        """A traceback that names cells as IPython does, with their lines, which the other process didn't have."""

        def frame(match: re.Match) -> str:
            file, line, within = match.groups()
            if not (place := self.shell.compile.format_code_name(file)):
                return match[0]
            shown = f"\n    {linecache.getline(file, int(line)).strip()}" if within else ""
            return f"  {' '.join(place)}, line {line}{within.replace(', in measured', '')}{shown}"

        unbound = re.search(r"\nUnboundLocalError: .*'(\w+)'", trace)
        own = f"\n{LOCAL_NAME}." if unbound and unbound[1] in assigned else ""
        if local := re.search(r"local object.*measured\.<locals>\.(\w+)", trace):
            own = f"\n{LOCAL_FUNCTION.format(local[1])}."
        if "BrokenProcessPool" in trace:
            own = f"\n{BROKEN_POOL}."
        return re.sub(r'  File "(.*)", line (\d+)(.*)', frame, trace).rstrip() + own


# --- what can't be carried to a fresh process ---------------------------------------------------------------
def not_carried(
    function: FunctionType, user: str, seen: frozenset[int] = frozenset(), loaded: bool = False
) -> Iterator[str]:
    """A sentence for each global that can't be pickled, with the reason and a remedy; first what its functions use.

    cloudpickle says that it "cannot pickle '_io.BufferedReader'", but not which of the names holds that.

    user    what the sentence calls the function: "the cell"
    loaded  also load each pickle, over the buffers that are here: to find what failed in the fresh process
    """
    for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        try:
            try_to_carry(value, loaded)
        except Exception as error:
            if is_a(value, FunctionType) and id(value) not in seen:
                yield from not_carried(value, f"`{name}`", seen | {id(value)}, loaded)
            kind = type(value).__name__
            yield f"`{name}`, a {kind} that {user} uses, can't be carried to a fresh process: {error}. {INSTEAD}."


def try_to_carry(value: Any, loaded: bool) -> None:
    """Raises what pickling raises; if `loaded`, what unpickling raises as well."""
    if not loaded:
        Pickler(SimpleNamespace(write=len), buffer_callback=lambda _: None).dump(value)
        return
    file, buffers = io.BytesIO(), []
    Pickler(file, buffer_callback=buffers.append).dump(value)
    file.seek(0)
    Loader(file, buffers=buffers).load()


class Loader(pickle.Unpickler):
    """Unpickles as a fresh process does, which has none of the notebook's names."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__":
            raise AttributeError(f"its pickle only names `{name}`, which the notebook has and a fresh process hasn't")
        return super().find_class(module, name)


def with_a_cache(function: FunctionType) -> Iterator[str]:
    """The functions of the notebook that it uses, and whose caches hold something here."""
    for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        if is_a(value, _lru_cache_wrapper) and not found_by_name(value) and value.cache_info().currsize:
            yield name


def global_names(code: CodeType) -> set[str]:
    """The global names that this code looks up, and the code of functions and classes in it."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(global_names(const) for const in code.co_consts if isinstance(const, CodeType)))
