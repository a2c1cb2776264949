"""The kernel that this runs in, if any: its notebook's file, and how it shows what the course
raises.
"""

import linecache
import os
import re
import sys
import traceback
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import Any

HELPERS = Path(__file__).parent
READ_IN_CLASS = ("ideas", "serve")  # a traceback through the code of a lesson tells something


def running_shell() -> Any:
    """The IPython that this runs in: a kernel's or a terminal's; None in plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def notebook() -> Path | None:
    """The file of the notebook that this runs in, as jupyter_server or VS Code tells its kernel;
    None if none does.
    """
    shell = running_shell()
    path = shell and (shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME"))
    return Path(path).resolve() if path and Path(path).is_file() else None


def tell_in_a_line(shell: Any) -> None:
    """From now on, IPython shows an exception that the course itself raises as one line: it says
    what was wrong and what would be right, and a traceback through our code would only hide that.
    `%tb` still shows it.
    """

    def show(
        shell: Any, kind: type, error: Exception, trace: TracebackType, tb_offset: int | None = None
    ) -> None:
        last = traceback.extract_tb(trace)[-1]
        inside = (
            Path(last.filename).relative_to(HELPERS).parts
            if Path(last.filename).is_relative_to(HELPERS)
            else ()
        )
        raises = linecache.getline(last.filename, last.lineno).lstrip().startswith("raise ")
        if how := "" if inside else _how_to_call(shell, error):
            error = TypeError(f"{error}; write {how}")
        if how or (inside and raises and inside[0] not in READ_IN_CLASS):
            sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
            shell._showtraceback(kind, error, [f"{kind.__name__}: {error}"])
        else:
            shell.showtraceback(
                (kind, error, trace), tb_offset=tb_offset, running_compiled_code=True
            )

    shell.set_custom_exc((Exception,), show)


def _how_to_call(shell: Any, error: Exception) -> str:
    """`check(function)`, if the error says that something of teach or casebook was called with
    other arguments.
    """
    wrong = (
        re.match(r"([A-Za-z]+)(?:\.(\w+))?\(\) (?:missing|takes|got) ", str(error))
        if type(error) is TypeError
        else None
    )
    rooms = [
        sys.modules.get(f"{__package__}.{room}")
        for room in ("teach", "teach.exercises", "casebook")
    ]
    for room in rooms if wrong else ():
        called = getattr(room, wrong[1], None)
        if called and shell.user_ns.get(wrong[1], called) is called:
            function = getattr(called, wrong[2], called) if wrong[2] else called
            needed = [
                name
                for name, one in signature(function).parameters.items()
                if one.default is one.empty
            ]
            return (
                f"`{wrong[2] or wrong[1]}({', '.join(name for name in needed if name != 'self')})`"
            )
    return ""
