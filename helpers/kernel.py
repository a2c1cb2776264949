"""The kernel that this runs in, if any, and its notebook's file."""

import os
import sys
from pathlib import Path
from typing import Any


def running_shell() -> Any:
    """The IPython that this runs in: a kernel's or a terminal's; None in plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def notebook() -> Path | None:
    """The file of the notebook that this runs in, as jupyter_server or VS Code tells its kernel; None if none does."""
    if shell := running_shell():
        said = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
        return Path(said).resolve() if said and Path(said).is_file() else None
    return None
