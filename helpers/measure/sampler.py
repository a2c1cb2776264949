"""Read another process's memory from outside. `choose` picks the back-end for this machine."""

import os
import platform
import sys
import time
import timeit
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from ..libc import libc
from ..units import MiB
from . import maps
from .tables import Count

SLOWEST_S = 0.1  # of processor time, for a look at all processes
MOST_SOCKETS = 16  # what waits in a socket is no process's memory, and may be some MiB
# -1: no system call has that number
KCMP = {"x86_64": 312, "aarch64": 272}.get(platform.machine(), -1)


class Sample(NamedTuple):
    """Resident bytes by kind, and the size of the address space; None where the back-end can't
    tell.
    """

    anonymous: Count
    file: Count
    shared: Count
    resident: int
    virtual: Count = None


class ProcStatus:
    """/proc/<pid>/status, kept open: VmSize, RssAnon, RssFile, RssShmem, proc_pid_status(5). About
    20 µs a sample.

    Anonymous and shared memory of the processes that it started count too, each page once: Pss_Anon
    and Pss_Shmem of /proc/<pid>/smaps_rollup, Linux 5.4, some 300 µs for each process. It counts
    every descendant of `above`, except the sandbox's own processes between `above` and the measured
    one, and looks for new ones when a process appears anywhere on this machine, proc_loadavg(5).

    Every 10 ms, or rarely every 100 ms, it looks for memory that shows in no page table, as after
    madvise(2): in memfds, and in shared mappings without a file on a disk. These count with or
    without pages, but by no more than the machine's shared memory has grown: Shmem,
    proc_meminfo(5).

    unseen  why it may have missed some memory; None if it saw all
    """

    unseen = None

    def __init__(self, pid: int, above: int | None = None):
        self._pid, self._above, self._between = pid, above, []
        with suppress(psutil.NoSuchProcess):
            parents = [parent.pid for parent in psutil.Process(pid).parents()] if above else []
            self._between = parents[: parents.index(above)] if above in parents else []
        self._file = os.open(f"/proc/{pid}/status", os.O_RDONLY)
        self._newest = os.open("/proc/loadavg", os.O_RDONLY) if above else None
        self._last = b""
        self._others = ()
        self._elsewhere = 0
        self._look_again = 0.0
        self._least = sys.maxsize

    def read(self, thorough: bool = False) -> Sample | None:
        """None when the process has ended. `thorough`: also look for new processes, and memory
        elsewhere.
        """
        try:
            text = os.pread(self._file, 8192, 0)
        except ProcessLookupError:
            text = b""
        # a thread that has ended keeps its status, without the memory lines
        at = text.find(b"\nRssAnon:")
        if at < 0:
            with suppress(OSError):  # the process has ended
                other = os.open(f"/proc/{_living(self._pid)}/status", os.O_RDONLY)
                os.dup2(other, self._file)
                os.close(other)
                return self.read(thorough)
            return None
        parts = text[at : at + 120].split()
        anonymous, file, shared = (int(parts[i]) * 1024 for i in (1, 4, 7))
        virtual = text[text.find(b"\nVmSize:") :].split(None, 2)[1]
        if self._above:
            began = time.thread_time()
            self._look_for_others(thorough)
            if self._others:
                both = self._all_together()
                anonymous = max(anonymous, both[0])
                shared = max(shared, both[1])
            now = time.perf_counter()
            if now > self._look_again or thorough:
                self._look_elsewhere()
                self._look_again = now + min(max(0.01, 20 * (time.perf_counter() - now)), SLOWEST_S)
            shared = max(shared, self._elsewhere)
            if time.thread_time() - began > SLOWEST_S:
                self.unseen = (
                    "it had so many processes and mappings that the measurement could look only "
                    "rarely"
                )
        return Sample(anonymous, file, shared, anonymous + file + shared, int(virtual) * 1024)

    def _look_for_others(self, again: bool = False) -> bool:
        """Are there others than before?"""
        newest = os.pread(self._newest, 64, 0).rsplit(None, 1)[-1]
        if newest == self._last and not again:
            return False
        left_out = (self._pid, *self._between)
        before = self._others
        self._last, self._others = (
            newest,
            tuple(pid for pid in below(self._above) if pid not in left_out),
        )
        return self._others != before

    def _living(self) -> list[int]:
        """A thread of each process that hasn't ended: proc_pid_task(5)."""
        return [living for pid in (self._pid, *self._others) if (living := _living(pid))]

    def _all_together(self, tries: int = 5) -> tuple[int, int]:
        """Anonymous and shared memory. If a process is forked or ends between two readings, the sum
        is too high: then this reads them all again, and takes the lowest.
        """
        sums = []
        for _ in range(tries):
            rollups = {pid: rollup for pid in self._living() if (rollup := _rollup(pid))}
            first, once = {}, {}
            for pid, (memory, sizes) in rollups.items():
                # KCMP_VM: not the same memory
                if libc().syscall(KCMP, pid, first.setdefault(memory, pid), 1) > 0:
                    memory = pid
                once[memory] = sizes
            sums.append([sum(sizes[kind] for sizes in once.values()) for kind in (0, 1)])
            ended = not all(map(_has_memory, rollups))
            if not self._look_for_others(again=ended) and not ended:
                break
        return min(anonymous for anonymous, _ in sums), min(shared for _, shared in sums)

    def _look_elsewhere(self) -> None:
        """Finds memory that shows in no page table, or says that there may be some."""
        pids = self._living()
        memfds = {}
        sockets = set()
        for pid in pids:
            try:
                for path in _descriptors(pid):
                    with suppress(OSError):  # closed meanwhile
                        if (what := os.readlink(path)).startswith("/memfd:"):
                            file = path.stat()
                            memfds[file.st_dev, file.st_ino] = file.st_blocks * 512
                        elif what.startswith("socket:"):
                            sockets.add(what)
            except OSError:
                if _has_memory(pid):  # else it has ended; prctl(2), PR_SET_DUMPABLE
                    self.unseen = "one of its processes lets nobody look at its open files"
        if len(sockets) > MOST_SOCKETS:
            self.unseen = "it had many sockets open, and what waits in them is no process's memory"
        (shmem,) = _sizes(Path("/proc/meminfo").read_bytes(), b"Shmem:")
        self._least = min(self._least, shmem)
        self._elsewhere = sum(memfds.values())
        grown = shmem - self._least
        if grown > self._elsewhere + MiB:
            with suppress(OSError):  # a process has ended
                self._elsewhere = min(grown, self._elsewhere + sum(map(_mapped, pids)))

    def close(self) -> None:
        os.close(self._file)
        if self._newest is not None:
            os.close(self._newest)


def below(pid: int) -> list[int]:
    """The processes that it started, and that those started: proc_tid_children(5). [] where the
    kernel has no list.
    """
    pids = [pid]
    for parent in pids:  # which grows
        with suppress(OSError, ValueError):  # it has ended
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as file:
                    pids += [int(child) for child in file.read(2**16).split()]
    return pids[1:]


def _rollup(pid: int) -> tuple[object, tuple[int, int]] | None:
    """Whose memory it is, and anonymous and shared memory, each page divided by the number of its
    mappings; None if the kernel doesn't tell.

    Between vfork(2) and exec, a process is in its parent's memory, and both report that memory as
    theirs alone. So the addresses, in the first line, say whose it may be; kcmp(2) says whether it
    is. After fork(2) the addresses are the same too, but the pages are shared.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
        anonymous, shared, mapped = _sizes(text, b"Pss_Anon:", b"Pss_Shmem:", b"\nAnonymous:")
        return text.partition(b"\n")[0] if anonymous == mapped else pid, (anonymous, shared)
    # nobody may look into its memory, prctl(2), PR_SET_DUMPABLE; its sizes are public
    except PermissionError:
        with suppress(OSError, ValueError):
            return pid, tuple(
                _sizes(Path(f"/proc/{pid}/status").read_bytes(), b"RssAnon:", b"RssShmem:")
            )
    except (OSError, ValueError):  # it has ended
        pass
    return None


def _sizes(text: bytes, *names: bytes) -> list[int]:
    return [int(text[text.index(name) :].split(None, 2)[1]) * 1024 for name in names]


def _living(pid: int) -> int | None:
    """A thread of this process that has memory: the first may have ended before the others,
    pthread_exit(3).
    """
    with suppress(OSError):
        return next(filter(_has_memory, map(int, os.listdir(f"/proc/{pid}/task"))), None)
    return None


def _has_memory(pid: int) -> bool:
    """proc_pid_statm(5): a process, or a thread of it, that has ended may stay for a while, but has
    no memory.
    """
    with suppress(OSError):
        return Path(f"/proc/{pid}/statm").read_bytes()[:2] != b"0 "
    return False


def _descriptors(pid: int) -> Iterator[Path]:
    """Its descriptors, and those of each thread that has others, unshare(2), CLONE_FILES."""
    yield from Path(f"/proc/{pid}/fd").iterdir()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            if libc().syscall(KCMP, pid, int(thread.name), 2) > 0:  # KCMP_FILES
                yield from (thread / "fd").iterdir()


def _mapped(pid: int) -> int:
    """Bytes of address space where a process maps shared memory, with or without pages. OSError if
    it has ended.
    """
    return sum(
        region.end - region.start for region in maps.regions(pid) if region.kind == "shared memory"
    )


class Portable:
    """psutil, where there is no /proc (macOS, Windows): resident memory as a whole, no kinds."""

    unseen = None

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
