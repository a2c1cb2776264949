"""The workshop behind the lessons: make a file, measure what reading it costs, show it, teach with it, publish it."""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext helpers` gives a notebook `%measure` and `%%measure`: show/magic.py."""
    from .show.magic import Measuring

    shell.register_magics(Measuring)
