"""The machine that a figure was made on: we print no figure without it."""

import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from ..folders import file_system


class NotMeasuredHere(RuntimeError):
    """This machine can't measure it, and the message says why. A lesson shows the recorded run
    instead.
    """


@dataclass(frozen=True)
class Machine:
    """Facts that affect memory figures. `read_ahead` and `page_size` are in bytes; None if the
    system doesn't say, or no file was measured.
    """

    system: str
    cpu: str
    cores: int
    memory: int
    python: str
    page_size: int
    file_system: str | None = None
    read_ahead: int | None = None

    def __str__(self) -> str:
        ahead = f", read-ahead {self.read_ahead // 1024} KiB" if self.read_ahead is not None else ""
        disk = f", {self.file_system}{ahead}" if self.file_system else ahead
        return (
            f"{self.system}, {self.cores} × {self.cpu}, {self.memory / 2**30:.0f} GiB{disk},"
            f" Python {self.python}"
        )


def here(path: str | os.PathLike | None = ".") -> Machine:
    """This machine, with the file system and read-ahead under `path`, if there is a path."""
    read_ahead = None
    if path and sys.platform == "linux":
        with suppress(OSError):  # sysfs-class-bdi
            device = os.stat(path).st_dev
            name = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
            read_ahead = int(Path(name).read_text()) * 1024
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        memory=psutil.virtual_memory().total,
        python=platform.python_version(),
        page_size=os.sysconf("SC_PAGESIZE") if hasattr(os, "sysconf") else 4096,
        file_system=path and file_system(path),
        read_ahead=read_ahead,
    )


@cache
def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
