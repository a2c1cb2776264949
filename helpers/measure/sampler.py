"""Read another process's memory from outside. `choose` picks the back-end for this machine."""

import os
import sys
import time
import timeit
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil


class Sample(NamedTuple):
    """Resident bytes by kind, and the size of the address space; None where the back-end can't tell."""

    anonymous: int | None
    file: int | None
    shared: int | None
    resident: int
    virtual: int | None = None


class ProcStatus:
    """/proc/<pid>/status, kept open: VmSize, RssAnon, RssFile, RssShmem, proc_pid_status(5). About 20 µs a sample.

    Anonymous and shared memory of the processes that it started count too, each page once: Pss_Anon and Pss_Shmem of
    /proc/<pid>/smaps_rollup, Linux 5.4, some 300 µs for each process. It counts every descendant of `above`, except the
    sandbox's own processes between `above` and the measured one, and looks for new ones when a process appears anywhere
    on this machine, proc_loadavg(5). Memfds, mapped or not, are looked up every 10 ms."""

    def __init__(self, pid: int, above: int | None = None):
        self._pid, self._above, self._between = pid, above, []
        with suppress(psutil.NoSuchProcess):
            parents = [parent.pid for parent in psutil.Process(pid).parents()] if above else []
            self._between = parents[: parents.index(above)] if above in parents else []
        self._file = os.open(f"/proc/{pid}/status", os.O_RDONLY)
        self._newest = os.open("/proc/loadavg", os.O_RDONLY) if above else None
        self._last, self._others, self._memfds, self._look_again = b"", (), 0, 0.0

    def read(self, thorough: bool = False) -> Sample | None:
        """None when the process has ended. `thorough`: also look for new processes and memfds."""
        try:
            text = os.pread(self._file, 8192, 0)
        except ProcessLookupError:
            return None
        at = text.find(b"\nRssAnon:")  # a process that has ended keeps its status, without the memory lines
        if at < 0:
            return None
        parts = text[at : at + 120].split()
        anonymous, file, shared = (int(parts[i]) * 1024 for i in (1, 4, 7))
        virtual = text[text.find(b"\nVmSize:") :].split(None, 2)[1]
        if self._above:
            self._look_for_others(thorough)
            if self._others:
                both = self._all_together()
                anonymous, shared = max(anonymous, both[0]), max(shared, both[1])
            now = time.perf_counter()
            if now > self._look_again or thorough:
                self._memfds = _in_memfds((self._pid, *self._others))
                self._look_again = max(now + 0.01, now + 20 * (time.perf_counter() - now))
            shared = max(shared, self._memfds)
        return Sample(anonymous, file, shared, anonymous + file + shared, int(virtual) * 1024)

    def _look_for_others(self, again: bool = False) -> bool:
        newest = os.pread(self._newest, 64, 0).rsplit(None, 1)[-1]
        if newest == self._last and not again:
            return False
        left_out = (self._pid, *self._between)
        self._last, self._others = newest, tuple(pid for pid in below(self._above) if pid not in left_out)
        return True

    def _all_together(self, tries: int = 5) -> tuple[int, int]:
        """Anonymous and shared memory. If a process is forked or ends between two readings, the sum is too high: then
        this reads them all again, and takes the lowest."""
        sums = []
        for _ in range(tries):
            pids = self._pid, *self._others
            rollups = {pid: rollup for pid in pids if (rollup := _rollup(pid))}
            once = dict(rollups.values()).values()
            sums.append([sum(sizes[kind] for sizes in once) for kind in (0, 1)])
            if not self._look_for_others(again=not all(map(_has_memory, rollups))):
                break
        return min(anonymous for anonymous, _ in sums), min(shared for _, shared in sums)

    def close(self) -> None:
        os.close(self._file)
        if self._newest is not None:
            os.close(self._newest)


def below(pid: int) -> list[int]:
    """The processes that it started, and that those started: proc_tid_children(5). [] where the kernel has no list."""
    pids = [pid]
    for parent in pids:  # which grows
        with suppress(OSError, ValueError):  # it has ended
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as file:
                    pids += [int(child) for child in file.read(2**16).split()]
    return pids[1:]


def _rollup(pid: int) -> tuple[object, tuple[int, int]] | None:
    """Whose memory it is, and anonymous and shared memory, each page divided by the number of its mappings;
    None if the kernel doesn't tell.

    Between vfork(2) and exec, a process is in its parent's memory, and both report that memory as theirs alone. So the
    addresses, in the first line, say whose it is. After fork(2) they're the same too, but the pages are shared."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
        anonymous, shared, mapped = _sizes(text, b"Pss_Anon:", b"Pss_Shmem:", b"\nAnonymous:")
        return text.partition(b"\n")[0] if anonymous == mapped else pid, (anonymous, shared)
    except PermissionError:  # nobody may look into its memory, prctl(2), PR_SET_DUMPABLE; its sizes are public
        with suppress(OSError, ValueError):
            return pid, tuple(_sizes(Path(f"/proc/{pid}/status").read_bytes(), b"RssAnon:", b"RssShmem:"))
    except (OSError, ValueError):  # it has ended
        pass
    return None


def _sizes(text: bytes, *names: bytes) -> list[int]:
    return [int(text[text.index(name) :].split(None, 2)[1]) * 1024 for name in names]


def _has_memory(pid: int) -> bool:
    """proc_pid_statm(5): a process that has ended stays until its parent reaps it, but has no memory."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/statm").read_bytes()[:2] != b"0 "
    return False


def _in_memfds(pids: Iterable[int]) -> int:
    """Bytes in the memory files that these processes hold open: memfd_create(2)."""
    sizes = {}
    for pid in pids:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{name}"
                with suppress(OSError):
                    if os.readlink(path).startswith("/memfd:"):
                        file = os.stat(path)
                        sizes[file.st_dev, file.st_ino] = file.st_blocks * 512
    return sum(sizes.values())


class Portable:
    """psutil, where there is no /proc (macOS, Windows): resident memory as a whole, no kinds."""

    def __init__(self, pid: int, above: int | None = None):
        self._process = psutil.Process(pid)

    def read(self, thorough: bool = False) -> Sample | None:
        try:
            resident = self._process.memory_info().rss
            ended = resident == 0 and self._process.status() == psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        return None if ended else Sample(None, None, None, resident)

    def close(self) -> None:
        pass


Sampler = ProcStatus | Portable


def choose() -> type[Sampler]:
    if sys.platform == "linux":
        with open("/proc/self/status", "rb") as status:
            if b"\nRssAnon:" in status.read():  # Linux 4.5 and later
                return ProcStatus
    return Portable


def cost(sampler: Sampler, tries: int = 9) -> float:
    """Seconds that a sample takes here, the best of several."""
    return min(timeit.repeat(sampler.read, number=1, repeat=tries))
