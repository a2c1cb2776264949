"""The workshop behind the lessons: make a file, measure what reading it costs, show it, teach with it, publish it."""

import sys
from typing import Any

if "IPython" in sys.modules:
    from .kernel import running_shell, tell_in_a_line

    if running_shell():
        tell_in_a_line(running_shell())


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext helpers` gives a notebook `%measure` and `%%measure`: show/magic.py."""
    from .show.magic import Measuring

    shell.register_magics(Measuring)
