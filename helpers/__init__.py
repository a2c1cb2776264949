"""The workshop behind the lessons: make a file, measure what reading it costs, show it, teach with
it, publish it.
"""

import sys
from typing import Any

if "IPython" in sys.modules:
    from .kernel import running_shell, tell_in_a_line

    if running_shell():
        tell_in_a_line(running_shell())


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext helpers` gives a notebook `%measure` and `%%measure`: show/magic.py."""
    from .show.magic import Measuring

    measuring = Measuring(shell)
    measuring.looks_like = _looks_like
    shell.register_magics(measuring)


def _looks_like(run: Any, text: str) -> list:
    try:
        from .casebook.hints import looks_like
    except ImportError:  # the wheel has no casebook
        return []
    return looks_like(run, text)
