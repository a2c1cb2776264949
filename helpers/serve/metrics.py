"""What each worker has in memory. The kernel says it (proc(5)), so no worker has to be asked: Linux."""

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..measure.maps import regions
from ..measure.sharing import sharing

PID, ANSWERS, STARTS = range(3)


class Board:
    """A page of shared memory, which the workers inherit: a row for each, with its process and its answers."""

    def __init__(self, workers: int) -> None:
        self.rows = np.frombuffer(mmap.mmap(-1, 24 * workers), np.int64).reshape(workers, 3)

    def started(self, worker: int, pid: int) -> None:
        self.rows[worker, PID] = pid
        self.rows[worker, STARTS] += 1

    def answered(self, worker: int) -> None:
        self.rows[worker, ANSWERS] += 1

    def figures(self, folder: Path) -> dict[str, Any]:
        """For each worker and all together; bytes. `versions`: files of the folder that are mapped, old ones too.

        pss counts each page once: divided among all who map it. None where the kernel doesn't tell.
        """
        rows = [self._row(folder, *map(int, row)) for row in self.rows]
        total = {key: _sum(row[key] for row in rows) for key in ("answers", "starts", "mapped", "anonymous", "pss")}
        return {"answered by": os.getpid(), "workers": rows, "together": total}

    def _row(self, folder: Path, pid: int, answers: int, starts: int) -> dict[str, Any]:
        row = {"pid": pid, "answers": answers, "starts": starts, "versions": None, "mapped": None, "anonymous": None,
               "pss": None}  # fmt: skip
        try:
            if shares := sharing([pid]).rows:
                mapped = [each for each in regions(pid) if each.path.startswith(f"{folder.resolve()}/")]
                row["versions"] = len({(each.device, each.inode) for each in mapped})
                row["mapped"] = sum(each.end - each.start for each in mapped)
                row["anonymous"], row["pss"] = shares[0].anonymous, shares[0].pss
        except (ProcessLookupError, PermissionError):  # it has just ended, or isn't ours to look at
            pass
        return row


def _sum(values: Any) -> int | None:
    values = list(values)
    return None if None in values else sum(values)
