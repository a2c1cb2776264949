"""04.counter: four processes count at once, and no increment is lost."""

import os
import secrets
from dataclasses import replace

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB, in_words

COUNT, ROUNDS, AT_ONCE = 4, 20, 2000
BYTES = 4096


def run(function, path: str, content: bytes, shares: list[list[int]], at_once: int) -> tuple[list[str], bytes]:
    """A process for each share calls the function with each number in it, and at last with `at_once`, on a file with
    that content; their errors, and its content then (b"" if it is gone).

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
            errors.append(said.read())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            errors[-1] = f"OSError: one of the processes was ended by signal {-code}"
    if not os.path.isfile(path):
        return errors, b""
    with open(path, "rb") as file:
        return errors, file.read(len(content) + 1)


def judge(attempt: Attempt) -> Verdict:
    if not hasattr(os, "fork"):
        raise OSError("it needs fork and flock, which this system lacks; it runs on Linux and macOS")
    path, begin = attempt.folder / "counter.bin", secrets.randbelow(1000)
    content = begin.to_bytes(8, "little") + bytes(BYTES - 8)
    shares = [[5 + secrets.randbelow(10) for _ in range(ROUNDS)] for _ in range(COUNT)]
    wanted = sum(map(sum, shares)) + COUNT * AT_ONCE
    seen = attempt.measure(run, str(path), content, shares, AT_ONCE, memory_limit=256 * MiB)
    if seen.ended == "timed out":
        why = (
            f"the processes were still busy after {attempt.timeout:.0f} s and were stopped. Is one of them waiting for "
            "a lock that nobody gives back?"
        )
        raise NotYet("still-running", why)
    errors, content = seen.value or ([], b"")
    error = next(filter(None, errors), None)
    attempt.returned(replace(seen, ended="raised", error=error) if error else seen)
    if len(content) != BYTES or any(content[8:]):
        why = "the file has changed beyond its first 8 bytes: its length, or the bytes behind the counter."
        raise NotYet("beyond-the-counter", why)
    counted = int.from_bytes(content[:8], "little") - begin
    figures = (f"{COUNT} processes, {wanted:,} increments", f"{counted:,} counted", in_words(seen.wall, "seconds"))
    if counted != wanted:
        slip = miscounted(counted, wanted, names(attempt.function))
        raise NotYet(slip.cause, slip.because, figures)
    return right(f"{COUNT} processes at once, and none of {wanted:,} increments was lost.", figures)


def miscounted(counted: int, wanted: int, used: set[str]) -> NotYet:
    """What kind of slip it was, as far as the count and the names in the program tell."""
    if counted == 0:
        why = (
            "the counter stands where it stood. Does your function write to the file? What is written into a private "
            "map stays in this process's own copy of the page."
        )
        return NotYet("nothing-written", why)
    if not 0 < counted < wanted:
        return NotYet("wrong-count", f"expected the counter to grow by {wanted:,}, but it grew by {counted:,}.")
    lost = f"{wanted - counted:,} of {wanted:,} increments are lost"
    if "LOCK_SH" in used:
        why = "any number of processes can hold LOCK_SH at the same time. A writer needs LOCK_EX."
        return NotYet("shared-lock", f"{lost}: {why}")
    if used & {"flock", "lockf", "O_EXCL", "O_CREAT"}:
        why = (
            "although you take a lock. An increment is three steps: read, add, write. Which of them can happen while "
            "another process has the lock?"
        )
        return NotYet("lock-too-short", f"{lost}, {why}")
    if used & {"threading", "Lock", "RLock"}:
        why = (
            "a lock of `threading` is an object in one process, and each process has its own. It keeps out threads, "
            "not other processes."
        )
        return NotYet("lock-of-threads", f"{lost}: {why}")
    return NotYet("no-lock", f"{lost}: two processes read the same count, both added 1, and one wrote over the other.")


def names(function: object) -> set[str]:
    """The names that a function uses, also those inside it."""
    code = getattr(function, "__code__", function)
    found = set(getattr(code, "co_names", ())) | set(getattr(code, "co_varnames", ()))
    return found.union(*(names(inner) for inner in getattr(code, "co_consts", ()) if hasattr(inner, "co_names")))
