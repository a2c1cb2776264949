"""`%measure f(x)` and `%%measure`: the curves and the meters of your own code, used as `%memit` is.

`%load_ext helpers` brings them. The line, or the cell, becomes one function, and `compare` runs
that in a fresh process. What it uses of the notebook travels by value, as it is now, and is there
before anything is measured.
"""

import ast
import dis
import linecache
import re
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from inspect import CO_COROUTINE, getsource
from textwrap import shorten
from types import CodeType, FunctionType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display
from IPython.utils.process import arg_split

from ..measure.recording import Comparison
from ..measure.run import compare, imports_of_ours
from ..measure.run_report import AT_THE_END, notes, rows
from .curves import curves
from .meters import Table
from .unpicklable import global_names, not_carried, with_a_cache
from .words import ended

LOCAL_NAME = (
    "A name that the cell assigns is the cell's own, all through the cell: use another name for "
    "what it makes"
)
REMEDIES = {  # by what a traceback says
    r"local object.*measured\.<locals>\.(\w+)": (
        "Process pools and pickle look functions up by name: define `{}` in a "
        "cell above, and use it here"
    ),
    "BrokenProcessPool": (
        "If its processes aren't forked, they find no function of a notebook: from Python 3.14 on,"
        " pass mp_context=multiprocessing.get_context('fork'), or put the function in a file"
    ),
}
NOTEBOOK_ONLY = {
    "get_ipython": (
        "a line with `%` or `!` works in the notebook only; use subprocess, or a cell of its own"
    ),
    "display": "`display` works in the notebook only; use print, or make it the last expression",
}


class Raised(Exception):
    """What the measured code raised: IPython shows its text, with the traceback from there, and no
    line of ours.
    """

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class Interrupted(KeyboardInterrupt):
    """The reader has stopped the run."""

    _render_traceback_ = Raised._render_traceback_


def names(text: str) -> list[str]:
    """ "a,b" as a list of modules that are there."""
    for name in text.split(","):
        if not find_spec(name.partition(".")[0]):
            raise UsageError(f"there is no module {name!r}")
    return text.split(",")


@magics_class
class Measuring(Magics):
    # the cases that a run may be, where there is a casebook
    looks_like = staticmethod(lambda run, text: ())

    @no_var_expand
    @magic_arguments()
    @argument(
        "-r",
        "--repeat",
        type=int,
        default=1,
        help="runs, each in a fresh process; the fastest is drawn",
    )
    @argument(
        "-i",
        "--interval",
        type=float,
        default=0.001,
        help="seconds between two samples, 0.001 if not given",
    )
    @argument(
        "-t",
        "--timeout",
        type=float,
        default=60,
        help="seconds until a run is stopped, 60 if not given",
    )
    @argument(
        "-o",
        "--output",
        action="store_true",
        help="return the Recording of the fastest run, not the value",
    )
    @argument("-q", "--quiet", action="store_true", help="show neither curves nor table")
    @argument(
        "-c",
        "--include-children",
        action="store_true",
        help="not needed: their own memory always counts",
    )
    @argument(
        "--heap",
        action="store_true",
        help="run it once more, under tracemalloc, for the peak of the heap",
    )
    @argument(
        "--stack",
        action="store_true",
        help="run it twice more, several times as slowly, for the Python stacks that allocated",
    )
    @argument(
        "--warm",
        action="store_true",
        help="call it once before, unmeasured: no first imports, full caches",
    )
    @argument(
        "--modules",
        type=names,
        default=[],
        help="modules to import before: --modules pandas,pyarrow",
    )
    @argument(
        "-f",
        "--function",
        action="append",
        default=[],
        help="mark the calls of a function: -f load, -f json:loads, -f zipfile:ZipFile.read",
    )
    @argument(
        "code", nargs="...", help="a line of Python; with %%%%measure it is the rest of the cell"
    )
    @line_cell_magic
    def measure(self, line: str, cell: str | None = None) -> Any:
        """Measure a line, or with %%measure a cell, in a fresh process: memory over time, and every
        meter.

        It returns the value of the last expression, if that can come back; what a cell assigns
        doesn't come back. Open files, mappings and locks can't be carried there: pass paths.
        Imports in the cell count, those of the notebook don't. Of processes that it starts, memory
        of their own counts (%memit asks a -c for that), and once they have ended, their calls and
        bytes. Interrupting ends them all.

        `mark("decoded")`, from this package's `measure`, marks a moment inside: the picture and the
        table show it.
        """
        words = arg_split(line, strict=False)
        options = Measuring.measure.parser.parse_args(words)
        code = line.split(None, len(words) - len(options.code))[-1] if options.code else ""
        if cell is not None and code:
            raise UsageError(
                f"%%measure takes options only, not {code!r}: what a cell above makes is carried "
                "there"
            )
        if not (cell or code).strip():
            raise UsageError(
                "nothing to measure: write %measure f(x), or %%measure and code below it"
            )
        if options.repeat < 1:
            raise UsageError(f"-r is how many runs, 1 or more, not {options.repeat}")
        number = len(self.shell.history_manager.input_hist_raw) - 1
        name = f"Cell In[{number}]" if cell else shorten(code, 60)
        function, assigned, ours = self._function(f"# %%measure\n{cell}" if cell else code, number)
        how = {
            each: getattr(options, each)
            for each in ("repeat", "heap", "stack", "warm", "interval", "timeout")
        }
        how |= {"objects": True, "modules": options.modules + ours, "calls": options.function}
        runs, stopped = None, None
        try:
            runs = compare({name: function}, **how)
        except TypeError as error:
            stopped = UsageError(
                next(not_carried(function, "the cell" if cell else "the line"), str(error))
            )
        except (ValueError, TimeoutError) as error:
            stopped = UsageError(str(error))
        except KeyboardInterrupt as error:
            stopped = Interrupted(
                "KeyboardInterrupt: the run was stopped, with everything that it had started"
            )
            if run := getattr(error, "run", None):
                runs = Comparison({name: [run]})
        if not runs:
            raise stopped  # here, where no traceback keeps what was to be carried
        run = runs[name]
        heads = ["measured"]
        many = ""
        if options.repeat > 1 and not stopped:
            heads = [f"run {number}" for number in range(1, options.repeat + 1)]
            many = f"The fastest of {options.repeat} runs, each in a fresh process."
        if not options.quiet:
            display(curves(runs, caption=many, stays=True))
            for case in self.looks_like(run, self._text(cell or code)):
                print(f'Looks like case("{case.name}") of helpers.casebook: {case.title}')
            caption = f"Growth during the call, in a fresh process. {AT_THE_END}"
            display(Table(caption, ("meter", *heads), rows(runs.runs[name])))
            for note in (*notes(run), *(() if options.warm else with_a_cache(function))):
                print(note)
        if run.stack:
            print(self._as_in_the_notebook(run.stack))
        if stopped:
            raise stopped
        if run.ended == "raised":
            raise Raised(self._as_in_the_notebook(run.error, assigned))
        if run.ended != "returned":
            longer = "; -t gives it more seconds, and -i 0.01 takes fewer samples" * (
                run.ended == "timed out"
            )
            print(f"It didn't return: {ended(run)}{longer}.")
        if assigned and not options.quiet:
            print(f"Assigned in the fresh process only: {', '.join(assigned)}.")
        if run.error:
            print(f"{run.error[0].upper()}{run.error[1:]}.")
        return run if options.output else run.value

    def _text(self, text: str) -> str:
        """What is measured, after the notebook's own functions and classes that it names."""
        own = [text]
        for word in dict.fromkeys(re.findall(r"\w+", text)):
            named = self.shell.user_ns.get(word)
            if isinstance(named, (FunctionType, type)) and named.__module__ == "__main__":
                with suppress(OSError, TypeError):
                    own.insert(0, getsource(named))
        return "\n".join(own)

    def _function(self, text: str, number: int) -> tuple[FunctionType, list[str], list[str]]:
        """The code of that cell as a function that returns its last expression's value; the names
        that it assigns; and the modules of ours that it imports.
        """
        compiler = self.shell.compile
        text = self.shell.transform_cell(text)
        file = compiler.cache(text, number)
        try:
            tree = compiler.ast_parse(text, file)
            flags = compiler.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            # which refuses `return` and `yield`
            cell = compile(tree, file, "exec", flags, dont_inherit=True)
            if tree.body and isinstance(last := tree.body[-1], ast.Expr):
                tree.body[-1] = ast.copy_location(ast.Return(last.value), last)
            awaits = "async " * bool(cell.co_flags & CO_COROUTINE)
            (function,) = compiler.ast_parse(f"{awaits}def measured(): pass", file).body
            function.body = tree.body or function.body
            module = compile(
                ast.Module([function], []), file, "exec", compiler.flags, dont_inherit=True
            )
        except SyntaxError as error:
            raise Raised(
                self._as_in_the_notebook("".join(traceback.format_exception_only(error)))
            ) from None
        code = next(const for const in module.co_consts if isinstance(const, CodeType))
        for name in sorted(NOTEBOOK_ONLY.keys() & global_names(code)):
            if name == "get_ipython" or name not in self.shell.user_ns:
                raise UsageError(NOTEBOOK_ONLY[name])
        assigned = {
            step.argval
            for step in dis.get_instructions(cell)
            if step.opname in ("STORE_NAME", "STORE_GLOBAL")
        }
        return FunctionType(code, self.shell.user_ns), sorted(assigned), imports_of_ours(tree)

    def _as_in_the_notebook(self, trace: str, assigned: Sequence[str] = ()) -> str:
        """A traceback that names cells as IPython does, with their lines, which the other process
        didn't have.
        """

        def frame(match: re.Match) -> str:
            file, line, within, below = match.groups("")
            if not (place := self.shell.compile.format_code_name(file)):
                return match[0]
            shown = f"\n    {linecache.getline(file, int(line)).strip()}" if within else below
            return f"  {' '.join(place)}, line {line}{within.replace(', in measured', '')}{shown}"

        unbound = re.search(r"\nUnboundLocalError: .*'(\w+)'", trace)
        own = f"\n{LOCAL_NAME}." if unbound and unbound[1] in assigned else ""
        for says, remedy in REMEDIES.items():
            if found := re.search(says, trace):
                own = f"\n{remedy.format(*found.groups())}."
        return re.sub(r'  File "(.*)", line (\d+)(.*)(\n    .*)?', frame, trace).rstrip() + own
