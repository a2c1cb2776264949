"""What runs around a student's function in lesson 04, and the workers of 04.report."""

from . import mapping_under, some


def opened(function, path, numpy_is_here) -> dict:
    """What the function returned, as seen by the process that has it. It is kept, so that others can see what it costs.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    value = function(path)
    _kept.append(value)
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "mapped": False, "sum": None, "some": None}
    if not (hasattr(value, "dtype") and hasattr(value, "sum")):
        return told
    told |= {"dtype": str(value.dtype), "shape": tuple(value.shape), "sum": float(value.sum())}
    told["some"] = some(value) if value.ndim == 1 else []
    return told | {"mapped": mapping_under(value) is not None}


_kept: list = []


def counted(function, path: str, shares: list[list[int]], at_once: int) -> list[str]:
    """A process for each share calls the function with each number in it, and at last with `at_once`; their errors.

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
    return errors


def crowd(kind: str, path: str, size: int, count: int = 4) -> tuple[list[dict], list[dict]]:
    """What `count` forks of this process have, bytes, before and after each has used data in the way `kind` names.

    From proc_pid_smaps(5): rss, pss, anonymous, private_dirty. Garbage is not collected meanwhile: that would write.
    """
    import gc
    import mmap
    import os

    gc.disable()
    every_page = range(0, size, mmap.PAGESIZE)
    data = None
    if kind == "list":
        data = [f"{i:08}" * 12 for i in range(size // 160)]
    elif kind == "array":
        data = bytearray(b"1") * size

    def mapped(access):
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), size, access=access)
        return mapping, sum(mapping[at] for at in every_page)

    def use(held):
        if kind == "list":
            sum(len(one) for one in data)
        elif kind == "array":
            sum(data[at] for at in every_page)
        elif kind == "maps":
            return mapped(mmap.ACCESS_READ)
        elif kind == "reads":
            with open(path, "rb") as file:
                return file.read(size)
        elif kind == "patches":
            for at in every_page:
                held[0][at] = 1
        return held

    def reading(pid):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = {words[0]: int(words[1]) * 1024 for words in map(str.split, file) if words[-1] == "kB"}
        names = {"rss": "Rss:", "pss": "Pss:", "anonymous": "Anonymous:", "private_dirty": "Private_Dirty:"}
        return {name: found[line] for name, line in names.items()}

    workers = []
    for _ in range(count):
        orders, answers = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(orders[1])
                held = mapped(mmap.ACCESS_COPY) if kind == "patches" else None
                os.write(answers[1], b"1")
                os.read(orders[0], 1)
                held = use(held)
                os.write(answers[1], b"2")
                os.read(orders[0], 1)
            finally:
                os._exit(0)
        os.close(orders[0])
        os.close(answers[1])
        workers.append((pid, orders[1], answers[0]))
    moments = []
    for _ in "12":
        if not all(os.read(answer, 1) for _, _, answer in workers):
            raise OSError(f"a worker that {kind} has died")
        moments.append([reading(pid) for pid, _, _ in workers])
        for _, order, _ in workers:
            os.write(order, b"1")
    for pid, order, answer in workers:
        os.close(order)
        os.close(answer)
        os.waitpid(pid, 0)
    return moments[0], moments[1]
