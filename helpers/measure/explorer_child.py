"""What runs in the page explorer's process. process.py carries it there by value, so that little
else is loaded.

It maps the file that it inherits as a descriptor. Orders come in on a connection, and each answer
says what that order alone cost this process. The child that it forks on order serves the same
orders for itself.

mmap(2), madvise(2), msync(2), fork(2), getrusage(2), proc_pid_io(5).
"""

import ctypes
import mmap
import os
import signal
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe

PAGE = mmap.PAGESIZE
Costed = tuple[dict[str, int | None], object]  # what an action cost, and its result


class MappingServer:
    """A mapping of `file`, and what can be done to it. Pages by number, values 0 to 255."""

    def __init__(self, file: int, size: int):
        self.file, self.size, self.address = file, size, 0
        self.mapping: mmap.mmap | None = None
        self.rehearsal = mmap.mmap(-1, PAGE)
        self.child: tuple[int, Connection] | None = None

    def map(self, shared: bool) -> Costed:
        flags = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE
        cost, new = cost_of(lambda: mmap.mmap(self.file, self.size, flags))
        self.end_child()  # it has the old mapping, which may go now that there is a new one
        if self.mapping:
            self.mapping.close()
        self.mapping = new
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.mapping))
        return cost, None

    def touch(self, pages: list[int]) -> Costed:
        mapping = self.mapping
        offsets = [page * PAGE for page in pages]
        values = bytearray(b"\1" * len(offsets))  # filled, so that writing into it causes no fault

        def read(mapping: mmap.mmap, offsets: list[int]) -> None:
            for i, offset in enumerate(offsets):
                values[i] = mapping[offset]

        read(self.rehearsal, [0])
        cost, _ = cost_of(lambda: read(mapping, offsets))
        return cost, bytes(values)

    def write(self, pages: list[int], value: int) -> Costed:
        mapping = self.mapping
        offsets = [page * PAGE for page in pages]

        def write() -> None:
            for offset in offsets:
                mapping[offset] = value

        return cost_of(write)

    def look(self) -> Costed:
        return cost_of(lambda: None)

    def advise(self, advice: int) -> Costed:
        self.rehearsal.madvise(mmap.MADV_NORMAL)
        return cost_of(lambda: self.mapping.madvise(advice))

    def evict(self) -> Costed:
        """posix_fadvise(2), after fsync(2), because pages not yet written to the disk stay."""
        os.fsync(self.file)
        return cost_of(lambda: os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED))

    def sync(self) -> Costed:
        self.rehearsal.flush()
        return cost_of(self.mapping.flush)

    def overwrite(self, pages: list[int], value: int) -> Costed:
        """Writes whole pages into the file, past the mapping: pwrite(2)."""
        content = bytes([value]) * PAGE
        return cost_of(lambda: [os.pwrite(self.file, content, page * PAGE) for page in pages])

    def fork(self) -> Costed:
        self.end_child()
        pipe, childs_end = Pipe()
        cost, pid = cost_of(os.fork)
        if not pid:
            try:
                pipe.close()
                self.answer(childs_end)
            finally:  # whatever happened, the child must not go on in its parent's code
                os._exit(0)
        childs_end.close()
        self.child = pid, pipe
        return cost, None

    def answer(self, pipe: Connection) -> None:
        """Answers each order, until nobody is left to give any."""
        with suppress(EOFError, OSError):
            while True:
                forked, order, *what = pipe.recv()
                try:
                    cost, read = (
                        self.pass_on(order, *what) if forked else getattr(self, order)(*what)
                    )
                    answer = cost, read, self.address, self.living_child()
                except Exception as error:
                    answer = error
                pipe.send(answer)

    def pass_on(self, *order) -> tuple:
        if self.child:
            with suppress(OSError, EOFError):
                self.child[1].send((False, *order))
                return self.child[1].recv()[:2]
            self.end_child()
        raise RuntimeError("the forked child has ended; fork() makes another")

    def living_child(self, options: int = os.WNOHANG) -> int:
        """Its process number; 0 if there is no child, or it has ended. The options are those of
        waitpid(2).
        """
        if self.child and os.waitpid(self.child[0], options)[0]:
            self.child[1].close()
            self.child = None
        return self.child[0] if self.child else 0

    def end_child(self) -> None:
        if pid := self.living_child():
            os.kill(pid, signal.SIGKILL)
            self.living_child(0)


def explore(pipe: int, file: int, size: int) -> None:
    """Serves an explorer on the descriptor `pipe`, for as long as the explorer is there."""
    # On one processor: a page just read waits in a list of the processor that read it, and no other
    # processor can page it out until that list is full. sched_setaffinity(2)
    with suppress(OSError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    MappingServer(file, size).answer(Connection(pipe))


def cost_of(action) -> Costed:
    """Calls `action` and returns what that cost this process (faults, and bytes read from the
    device), and the result.

    After a fork, the first write to each of the interpreter's own pages costs a fault too. So the
    reading is rehearsed, and each caller rehearses its action's steps on another mapping.
    """
    counters(), counters()
    before = counters()
    result = action()
    after = counters()
    return {
        name: None if after[name] is None else after[name] - before[name] for name in after
    }, result


def counters() -> dict[str, int | None]:
    """getrusage(2), and `read_bytes` of proc_pid_io(5): a fault's read-ahead counts for the process
    that faulted.
    """
    import resource  # Windows, where none of this runs, doesn't have it

    usage = resource.getrusage(resource.RUSAGE_SELF)
    counts: dict[str, int | None] = {
        "minor": usage.ru_minflt,
        "major": usage.ru_majflt,
        "device_read_bytes": None,
    }
    with suppress(OSError):
        file = os.open("/proc/self/io", os.O_RDONLY)
        lines = os.read(file, 4096).splitlines()
        os.close(file)
        counts["device_read_bytes"] = next(
            int(line.split()[1]) for line in lines if line.startswith(b"read_bytes:")
        )
    return counts
