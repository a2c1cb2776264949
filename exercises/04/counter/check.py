"""04.counter: four processes count at once, and no increment is lost."""

import os
import secrets

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB, in_words

COUNT, ROUNDS, AT_ONCE = 4, 20, 2000
BYTES = 4096


def run(function, path: str, content: bytes, shares: list[list[int]], at_once: int) -> bytes:
    """A process for each share calls the function with each number in it, and at last with `at_once`, on a file with
    that content; what the file holds then (b"" if it is gone). OSError with a process's own error if one failed.

    Two processes that never meet lose nothing, however wrong the function is. So they are made to meet: while a share
    is worked on, a process pauses between any two of its steps (bytecodes), as a scheduler may do. The last call runs
    at full speed.
    """
    import os
    import random
    import sys
    import time
    import traceback

    def paused(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # what others wrote runs at full speed
        frame.f_trace_opcodes = True
        if event == "opcode" and random.random() < 0.25:
            time.sleep(2e-5)
        return paused

    def work(share):
        random.seed(os.getpid())
        function(path, 0)  # imports what it needs: that has too many steps to be paused at
        sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
        sys.settrace(paused)
        for times in share:
            function(path, times)
        sys.settrace(None)
        function(path, at_once)

    with open(path, "wb") as file:  # here, and not by the judge: where a second run is made, it begins anew
        file.write(content)
    started = []
    for share in shares:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            error = ""
            try:
                work(share)
            except BaseException:
                error = traceback.format_exc()
            finally:
                sys.settrace(None)
                os.write(writer, error[-8000:].encode())
                os._exit(0)
        os.close(writer)
        started.append((pid, reader))
    errors = []
    for pid, reader in started:
        with open(reader) as said:
            error = said.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        errors.append(f"one of the processes was ended by signal {-code}" if code else error)
    if any(errors):
        raise OSError(next(filter(None, errors)))
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read(len(content) + 1)


def judge(attempt: Attempt) -> Verdict:
    if not hasattr(os, "fork"):
        raise OSError("it needs fork and flock, which this system lacks; it runs on Linux and macOS")
    path, begin = attempt.folder / "counter.bin", secrets.randbelow(1000)
    content = begin.to_bytes(8, "little") + bytes(BYTES - 8)
    shares = [[5 + secrets.randbelow(10) for _ in range(ROUNDS)] for _ in range(COUNT)]
    wanted = sum(map(sum, shares)) + COUNT * AT_ONCE
    seen = attempt.run(run, str(path), content, shares, AT_ONCE, memory_limit=256 * MiB)
    if len(seen.value) != BYTES or any(seen.value[8:]):
        why = "the file has changed beyond its first 8 bytes: its length, or the bytes behind the counter."
        raise NotYet("beyond-the-counter", why)
    counted = int.from_bytes(seen.value[:8], "little") - begin
    figures = (f"{COUNT} processes, {wanted:,} increments", f"{counted:,} counted", in_words(seen.wall, "seconds"))
    if counted != wanted:
        cause, why = miscounted(counted, wanted, attempt.source.names)
        raise NotYet(cause, f"expected the counter to grow by {wanted:,}, but it grew by {counted:,}. {why}", figures)
    return right(f"{COUNT} processes at once, and none of {wanted:,} increments was lost.", figures)


def miscounted(counted: int, wanted: int, used: set[str]) -> tuple[str, str]:
    """Cause and words for a wrong count, as far as the count and the names in the program tell."""
    if counted == 0:
        return "nothing-written", "Does your function write to the file? A write to a private map stays in the process."
    if not 0 < counted < wanted:
        return "wrong-count", "Each call must add 1, `times` times."
    if "LOCK_SH" in used:
        return "shared-lock", "Any number of processes can hold LOCK_SH at the same time. A writer needs LOCK_EX."
    if used & {"flock", "lockf", "O_EXCL"}:
        why = "You take a lock, but which of the three steps (read, add, write) happen while you don't hold it?"
        return "lock-too-short", why
    if "threading" in used:
        return "lock-of-threads", "A lock of `threading` belongs to one process. It can't keep out other processes."
    return "no-lock", "Two processes read the same count, both added 1, and one overwrote what the other had written."
