"""Read another process's memory from outside. `choose` picks the back-end for this machine."""

import os
import sys
import time
from typing import NamedTuple, Protocol

import psutil


class Sample(NamedTuple):
    """Resident bytes by kind, and the size of the address space; None where the back-end cannot tell."""

    anonymous: int | None
    file: int | None
    shared: int | None
    resident: int
    virtual: int | None = None


class Sampler(Protocol):
    def read(self) -> Sample | None:
        """One sample; None when the process has ended."""

    def close(self) -> None: ...


class ProcStatus:
    """/proc/<pid>/status, kept open: VmSize, RssAnon, RssFile, RssShmem, proc_pid_status(5). About 20 µs a sample."""

    tells_kinds = True

    def __init__(self, pid: int):
        self._file = os.open(f"/proc/{pid}/status", os.O_RDONLY)

    def read(self) -> Sample | None:
        try:
            text = os.pread(self._file, 8192, 0)
        except ProcessLookupError:
            return None
        at = text.find(b"\nRssAnon:")  # a process that has ended keeps its status, without the memory lines
        if at < 0:
            return None
        words = text[at : at + 120].split()
        anonymous, file, shared = (int(words[i]) * 1024 for i in (1, 4, 7))
        virtual = text[text.find(b"\nVmSize:") :].split(None, 2)[1]
        return Sample(anonymous, file, shared, anonymous + file + shared, int(virtual) * 1024)

    def close(self) -> None:
        os.close(self._file)


class Portable:
    """psutil, where there is no /proc (macOS, Windows): resident memory as a whole, no kinds."""

    tells_kinds = False

    def __init__(self, pid: int):
        self._process = psutil.Process(pid)

    def read(self) -> Sample | None:
        try:
            resident = self._process.memory_info().rss
            ended = resident == 0 and self._process.status() == psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        return None if ended else Sample(None, None, None, resident)

    def close(self) -> None:
        pass


def choose() -> type[ProcStatus] | type[Portable]:
    """The back-end this machine has."""
    if sys.platform == "linux":
        with open("/proc/self/status", "rb") as status:
            if b"\nRssAnon:" in status.read():  # Linux 4.5 and later
                return ProcStatus
    return Portable


def cost(sampler: Sampler, tries: int = 9) -> float:
    """Seconds that one sample takes here, the best of several."""

    def once() -> float:
        began = time.perf_counter()
        sampler.read()
        return time.perf_counter() - began

    return min(once() for _ in range(tries))
