"""What each worker has in memory. The kernel says it (proc(5)), so no worker has to be asked: Linux."""

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..measure.maps import files_in_memory
from ..measure.process import ended_by
from ..measure.sharing import sharing

PID, ANSWERS, STARTS, ENDED = range(4)
NEVER = -1000
TOTALS = ("answers", "starts", "mapped", "mapped pss", "anonymous", "pss")


class Scoreboard:
    """A page of shared memory, which the workers inherit: a row for each, with its process and its answers."""

    def __init__(self, workers: int) -> None:
        self.rows = np.frombuffer(mmap.mmap(-1, 32 * workers), np.int64).reshape(workers, 4)
        self.rows[:, ENDED] = NEVER

    def started(self, worker: int, pid: int) -> None:
        self.rows[worker, PID] = pid
        self.rows[worker, STARTS] += 1

    def ended(self, worker: int, code: int) -> None:
        """`code`: the exit code, or minus the number of a signal."""
        self.rows[worker, ENDED] = code

    def answered(self, worker: int) -> None:
        self.rows[worker, ANSWERS] += 1

    def figures(self, folder: Path) -> dict[str, Any]:
        """For each worker and all together; bytes. `versions`: files of the folder that are mapped, old ones too.

        pss counts each page once: divided among all who map it. "mapped pss" is that of the mapped files alone. None
        where the kernel doesn't tell. "ended by": how the worker before this one ended, by a signal's name or "exited
        1"; None if there was none.
        """
        rows = [self._row(folder, *map(int, row)) for row in self.rows]
        columns = {key: [row[key] for row in rows] for key in TOTALS}
        total = {key: None if None in column else sum(column) for key, column in columns.items()}
        return {"answered by": os.getpid(), "workers": rows, "together": total}

    def _row(self, folder: Path, pid: int, answers: int, starts: int, code: int) -> dict[str, Any]:
        row = {"pid": pid, "answers": answers, "starts": starts, "ended by": None if code == NEVER else ended_by(code),
               "versions": None, "mapped": None, "mapped pss": None, "anonymous": None, "pss": None}  # fmt: skip
        try:
            for shares in sharing([pid]).rows:  # one, or none
                models = files_in_memory(folder.resolve(), pid)
                row["versions"] = len({(region.device, region.inode) for region, _ in models})
                row["mapped"] = sum(region.end - region.start for region, _ in models)
                row["mapped pss"] = sum(held["Pss"] for _, held in models)
                row["anonymous"], row["pss"] = shares.anonymous, shares.pss
        except (ProcessLookupError, PermissionError):  # it has just ended, or isn't ours to look at
            pass
        return row
