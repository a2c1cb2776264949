"""04.counter: four processes count at once, and no increment is lost."""

import os
import secrets
from pathlib import Path

from helpers.teach.judging import Attempt, NotYet, Verdict, opened, right
from helpers.units import MiB, in_words

COUNT, BYTES, RECORD = 4, 4096, 4
FORK = getattr(os, "fork", None)
PAUSED = 16  # calls that add fewer are made to pause


def run(function, path: Path, numbers: Path, count: int, fork=FORK, wait=os.waitpid) -> None:
    """Has `count` processes call the function, each with the next number from the FIFO, until none
    is left. Raises OSError with the error of a process that failed.

    Two processes that never meet lose nothing, however wrong the function is. So they are made to
    meet: while it adds a number below PAUSED, a process may pause between any two steps
    (bytecodes), as a scheduler can make it do. Other calls run at full speed. `fork` and `wait` are
    what they were before the student's code ran.
    """
    import os
    import random
    import sys
    import tempfile
    import time
    import traceback

    def paused(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # other people's code runs at full speed
        frame.f_trace_opcodes = True
        if event == "opcode" and random.random() < 0.25:
            time.sleep(2e-5)
        return paused

    def work():
        random.seed(os.getpid())
        function(path, 0)  # imports what it needs, which has too many steps to pause at
        sys._getframe().f_trace_opcodes = (
            True  # 3.12 looks for it when settrace is called, not later
        )
        with open(os.open(numbers, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as queue:
            while record := queue.read(RECORD):
                times = int.from_bytes(record, "little")
                sys.settrace(paused if times < PAUSED else None)
                function(path, times)
                sys.settrace(None)

    def forked(errors):
        pid = fork()
        if pid:
            return pid
        try:
            work()
        except BaseException:
            errors.write(traceback.format_exc().encode())
            errors.flush()
        finally:
            os._exit(0)

    with tempfile.TemporaryFile() as errors:
        forks = [forked(errors) for _ in range(count)]
        codes = [os.waitstatus_to_exitcode(wait(pid, 0)[1]) for pid in forks]
        errors.seek(0)
        error = errors.read(8000).decode(errors="replace")
    if error or any(codes):
        raise OSError(error or f"one of the processes was killed: {min(codes)}")


def judge(attempt: Attempt) -> Verdict:
    """The processes get their numbers one by one, so none knows the sum that the judge looks for in
    the file.
    """
    if not FORK:
        raise OSError(
            "it needs fork and flock, which this system lacks; it runs on Linux and macOS"
        )
    path, numbers, begin = (
        attempt.folder / "counter.bin",
        attempt.own / "numbers",
        secrets.randbelow(1000),
    )
    path.write_bytes(begin.to_bytes(8, "little") + bytes(BYTES - 8))
    shares = [5 + secrets.randbelow(10) for _ in range(80)] + [
        16 + secrets.randbelow(4) for _ in range(400)
    ]
    shares += [1000 + secrets.randbelow(500) for _ in range(COUNT)]
    os.mkfifo(numbers)
    queue = os.open(numbers, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(queue, b"".join(times.to_bytes(RECORD, "little") for times in shares))
        seen = attempt.run(run, path, numbers, COUNT, memory_limit=256 * MiB, shared=[numbers])
    finally:
        os.close(queue)
    with opened(path) as file:
        wanted, found = sum(shares), file.read(BYTES + 1)
    if len(found) != BYTES or any(found[8:]):
        why = (
            "the file has changed beyond its first 8 bytes: its length, or the bytes after the "
            "counter."
        )
        raise NotYet("beyond-the-counter", why)
    counted = int.from_bytes(found[:8], "little") - begin
    figures = (
        f"{COUNT} processes, {wanted:,} increments",
        f"{counted:,} counted",
        in_words(seen.wall, "seconds"),
    )
    if counted != wanted:
        cause, why = miscounted(counted, wanted, attempt.source.names)
        raise NotYet(
            cause,
            f"expected the counter to grow by {wanted:,}, but it grew by {counted:,}. {why}",
            figures,
        )
    return right(
        f"{COUNT} processes counted at once, and none of {wanted:,} increments was lost.", figures
    )


def miscounted(counted: int, wanted: int, used: set[str]) -> tuple[str, str]:
    """The cause of a wrong count and what to say, as far as the count and the names in the program
    show.
    """
    if counted == 0:
        return (
            "nothing-written",
            "Did you write to the file? A write to a private mapping stays in the process.",
        )
    if not 0 < counted < wanted:
        return "wrong-count", "Each call must add 1, `times` times."
    if "LOCK_SH" in used:
        return (
            "shared-lock",
            "Any number of processes can hold LOCK_SH at the same time. A writer needs LOCK_EX.",
        )
    if used & {"flock", "lockf", "O_EXCL"}:
        why = (
            "You take a lock, but which of the three steps (read, add, write) happens while you "
            "don't hold it?"
        )
        return "lock-too-short", why
    if "threading" in used:
        return (
            "lock-of-threads",
            "A `threading` lock belongs to one process. It can't keep other processes out.",
        )
    if "multiprocessing" in used:
        why = (
            "Each process made its own lock. A `multiprocessing` lock works only between processes "
            "that share it."
        )
        return "lock-of-its-own", why
    return (
        "no-lock",
        (
            "Two processes read the same count, both added 1, and one overwrote what the other had "
            "written."
        ),
    )
