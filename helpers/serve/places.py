"""A worker's place: who is in it, and when a worker that has died is replaced."""

import os
import time
from dataclasses import dataclass

LONGEST_PAUSE = 1.0  # seconds


@dataclass
class Place:
    """A worker's place. It's filled again as soon as the worker dies; after a pause if the worker had just begun. The
    pause grows, or workers that can't live would take all the processor's time."""

    pid: int = 0
    began: float = 0.0
    due: float = 0.0
    pause: float = 0.0

    def taken(self, pid: int) -> None:
        self.pid, self.began = pid, time.monotonic()

    def ended(self) -> int | None:
        """How the worker ended, if it did since the last call: its exit code, or minus the number of a signal."""
        pid, status = os.waitpid(self.pid, os.WNOHANG) if self.pid else (0, 0)
        if not pid:
            return None
        now = time.monotonic()
        self.pause = min(2 * self.pause + 0.05, LONGEST_PAUSE) if now < self.began + LONGEST_PAUSE else 0.0
        self.pid, self.due = 0, now + self.pause
        return os.waitstatus_to_exitcode(status)
