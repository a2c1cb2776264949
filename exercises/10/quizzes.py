"""Lesson 10: the answers of its quizzes, found by measuring."""

import os
import weakref
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np

from helpers.make import random_file
from helpers.measure import measure
from helpers.teach.judging import CRASHED, on_a_file
from helpers.units import KiB, MiB


@on_a_file
def kept_by(path: Path) -> int | None:
    """0 if a mapping stays, after `del` in a notebook, where a slice was shown by its cell, and
    goes where printed.
    """

    def goes(path, cell):
        import gc
        import os
        import tempfile
        import weakref
        from contextlib import redirect_stdout
        from io import StringIO

        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            os.environ["IPYTHONDIR"] = folder
            from IPython.core.interactiveshell import InteractiveShell
            from traitlets.config import Config

            shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
            shell.run_cell(
                f"import numpy as np\nweights = np.memmap({path!r}, np.uint8, 'r')",
                store_history=True,
            )
            gone = weakref.ref(shell.user_ns["weights"]._mmap)
            shell.run_cell(cell, store_history=True)
            shell.run_cell("del weights", store_history=True)
            gc.collect()
            return gone() is None

    shown, printed = (
        measure(goes, str(path), cell).value for cell in ("weights[:3]", "print(weights[:3])")
    )
    return 0 if (shown, printed) == (False, True) else None


@on_a_file
def caught(path: Path) -> int | None:
    """3 if reading past the new end of a mapped file ends the process, `except` or not, and 0 is
    read before that.
    """

    def read_in_try(path, at):
        import os
        from mmap import ACCESS_READ, mmap

        with open(path, "rb") as file:
            view = mmap(file.fileno(), 0, access=ACCESS_READ)
        os.truncate(path, 100)
        try:
            return view[at]
        except Exception:
            return "caught"

    if os.name != "posix":  # Windows does not let a mapped file be cut
        return None
    after, before = (measure(read_in_try, str(random_file(path, 16 * MiB)), at) for at in (-1, 200))
    if after.ended in CRASHED and before.value == 0:
        return 3
    return {"caught": 0, 0: 1}.get(after.value)


@on_a_file
def let_go(path: Path) -> int | None:
    """Which of the four ways to take a row keeps nothing of the mapping."""
    ways = (lambda row: row[:], np.asarray, lambda row: row.copy(), lambda row: row.reshape(-1))
    gone = []
    for way in ways:
        with path.open("rb") as file:
            mapping = mmap(file.fileno(), 0, access=ACCESS_READ)
        seen = weakref.ref(mapping)
        kept = way(np.frombuffer(mapping, np.uint8).reshape(-1, KiB)[7])
        del mapping
        gone.append(seen() is None and kept.size == KiB)
    return gone.index(True) if sum(gone) == 1 else None
