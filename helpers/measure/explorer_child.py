"""The process whose memory the page explorer shows. Started by explorer.py, by path, so that little else is loaded.

It maps the file that it was given as a descriptor, and waits. In, on a copy of its standard input: a line of JSON for
each order. Out: a line for each answer, with what the order alone cost this process. It ends when its input does, or
its caller. The child that it forks on order serves the same orders on pipes of its own.

mmap(2), madvise(2), msync(2), fork(2), getrusage(2), proc_pid_io(5), PR_SET_PDEATHSIG in prctl(2).
"""

import ctypes
import json
import mmap
import os
import resource
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PAGE = mmap.PAGESIZE


class Explored:
    """A mapping of the first `size` bytes of `file`, and what can be done to it. Pages by number, values 0 to 255."""

    def __init__(self, file: int, size: int, writable: bool):
        self.file, self.size, self.writable = file, size, writable
        self.address, self.shared = 0, False
        self.mapping: mmap.mmap | None = None
        self.child: tuple[int, object, object] | None = None

    # --- orders: each returns (what it cost, what it read) --------------------------------------------------
    def map(self, shared: bool) -> tuple[dict, None]:
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if self.writable or not shared else 0)
        flags = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE
        mmap.mmap(-1, PAGE).close()
        before = mapped_files()
        made: list[mmap.mmap] = []
        cost = cost_of(lambda: made.append(mmap.mmap(self.file, self.size, flags, protection)))
        self.address, self.shared = (mapped_files() - before).pop(), shared
        self.end_child()  # it has the old mapping, which goes only now that there is a new one
        if self.mapping:
            self.mapping.close()
        (self.mapping,) = made
        return cost, None

    def touch(self, pages: list[int] | None) -> tuple[dict, list[int]]:
        """Reads the first byte of each page; of every page, in order, without `pages`."""
        mapping, offsets = self.mapping, self.offsets(pages)
        values = bytearray(b"\1" * len(offsets))  # filled, so that writing into it faults on nothing

        def read(mapping: mmap.mmap, offsets: list[int]) -> None:
            for i, offset in enumerate(offsets):
                values[i] = mapping[offset]

        read(REHEARSAL, [0])
        return cost_of(lambda: read(mapping, offsets)), list(values)

    def write(self, pages: list[int], value: int) -> tuple[dict, None]:
        """Writes the first byte of each page."""
        mapping, offsets = self.mapping, self.offsets(pages)

        def write() -> None:
            for offset in offsets:
                mapping[offset] = value

        return cost_of(write), None

    def look(self) -> tuple[dict, None]:
        return cost_of(lambda: None), None

    def advise(self, advice: int) -> tuple[dict, None]:
        REHEARSAL.madvise(mmap.MADV_NORMAL)
        return cost_of(lambda: self.mapping.madvise(advice)), None

    def sync(self) -> tuple[dict, None]:
        REHEARSAL.flush()
        return cost_of(lambda: self.mapping.flush()), None

    def overwrite(self, pages: list[int], value: int) -> tuple[dict, None]:
        """Writes whole pages into the file, past the mapping: pwrite(2)."""
        content, offsets = bytes([value]) * PAGE, self.offsets(pages)
        return cost_of(lambda: [os.pwrite(self.file, content, offset) for offset in offsets]), None

    def fork(self) -> tuple[dict, None]:
        self.end_child()
        orders, orders_in = os.pipe()
        answers_out, answers = os.pipe()
        pid, parent = 0, os.getpid()

        def fork() -> None:
            nonlocal pid
            pid = os.fork()

        cost = cost_of(fork)
        if pid == 0:
            os.close(orders_in)
            os.close(answers_out)
            tie_to(parent, signal.SIGKILL)
            self.child = None
            serve(self, os.fdopen(orders, "rb"), os.fdopen(answers, "wb"))
            os._exit(0)
        os.close(orders)
        os.close(answers)
        self.child = pid, os.fdopen(orders_in, "wb"), os.fdopen(answers_out, "rb")
        return cost, None

    # --- beside the orders ----------------------------------------------------------------------------------
    def offsets(self, pages: list[int] | None) -> list[int]:
        return list(range(0, self.size, PAGE)) if pages is None else [page * PAGE for page in pages]

    def passed_on(self, order: dict) -> dict:
        """The forked child's answer."""
        if self.child:
            with suppress(BrokenPipeError):
                send(self.child[1], order)
            if line := self.child[2].readline():
                return json.loads(line)
        self.end_child()
        return {"error": ["ChildProcessError", "the forked child has ended; fork() makes another"], "errno": None}

    def living_child(self) -> int:
        """Its process number; 0 where there is none, or none any more."""
        if self.child and os.waitpid(self.child[0], os.WNOHANG)[0]:
            self.forget_child()
        return self.child[0] if self.child else 0

    def end_child(self) -> None:
        if pid := self.living_child():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self.forget_child()

    def forget_child(self) -> None:
        _, *pipes = self.child
        self.child = None
        for pipe in pipes:
            with suppress(BrokenPipeError):  # an order that it did not read
                pipe.close()


REHEARSAL = mmap.mmap(-1, PAGE)
ORDERS = ("look", "map", "touch", "write", "advise", "sync", "overwrite", "fork")


def serve(explored: Explored, orders, answers) -> None:
    """Answers each order, until there are no more. What is no whole order was interrupted, and is passed over."""
    with suppress(BrokenPipeError):
        for line in orders:
            if line == b"\n":  # an order begins on a new line
                continue
            try:
                order = json.loads(line)
            except ValueError:
                continue
            number, name, forked = order.pop("number"), order.pop("order"), order.pop("forked", False)
            try:
                if forked:
                    answer = explored.passed_on({"number": number, "order": name, **order})
                else:
                    assert name in ORDERS, name
                    cost, value = getattr(explored, name)(**order)
                    answer = {"cost": cost, "value": value}
            except Exception as error:
                answer = {"error": [type(error).__name__, str(error)], "errno": getattr(error, "errno", None)}
            now = {"address": explored.address, "shared": explored.shared, "child": explored.living_child()}
            send(answers, answer | {"number": number} | now)


def send(stream, message: dict) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def cost_of(action) -> dict[str, int | None]:
    """Calls it. Faults and bytes from the device that it cost this process.

    After a fork each page of the interpreter's own that is written to costs a fault as well. So the reading is
    rehearsed, and who calls rehearses the action's own steps on another mapping.
    """
    counters(), counters()
    before = counters()
    action()
    after = counters()
    return {name: None if after[name] is None else after[name] - before[name] for name in after}


def counters() -> dict[str, int | None]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"minor": usage.ru_minflt, "major": usage.ru_majflt, "device_read_bytes": device_read_bytes()}


def device_read_bytes() -> int | None:
    """`read_bytes` of proc_pid_io(5): the read-ahead that a fault starts counts for who faulted."""
    try:
        file = os.open("/proc/self/io", os.O_RDONLY)
    except OSError:
        return None
    text = os.read(file, 4096)
    os.close(file)
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(b"read_bytes:"))


def mapped_files() -> set[int]:
    """Where mappings of the first page of a file start, proc_pid_maps(5). A mapping just made is the new one of them;
    its inode would not tell, for an overlay shows one number in stat(2) and another here."""
    with open("/proc/self/maps", "rb") as lines:
        found = [line.split(maxsplit=5) for line in lines]
    return {int(one[0].split(b"-")[0], 16) for one in found if int(one[2], 16) == 0 and one[4] != b"0"}


def tie_to(parent: int, number: int) -> None:
    """Sends this process the signal when its parent, or the parent's thread that started it, ends: prctl(2)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    file, size, writable, parent = map(int, sys.argv[1:])
    # A notebook's thread may end and its process live on: so look, where SIGKILL would not ask.
    signal.signal(signal.SIGUSR1, lambda *_: os.getppid() == parent or os._exit(0))
    tie_to(parent, signal.SIGUSR1)
    serve(Explored(file, size, bool(writable)), os.fdopen(0, "rb"), os.fdopen(1, "wb"))
    os._exit(0)  # the forked child, if there is one, ends with its parent


if __name__ == "__main__":
    main()
