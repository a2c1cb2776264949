"""The kernel that this runs in, if any."""

import sys
from typing import Any


def running_shell() -> Any:
    """The IPython that this runs in: a kernel's or a terminal's; None in plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
