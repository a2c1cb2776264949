"""What the fresh interpreter runs: load the function, say ready, wait, call it, report. Started by process.py, by path,
so that nothing but the function's own imports is loaded before the call.

Protocol, on copies of the standard streams it was born with. In: a pickle of (payload, options), then a line for each
step that the caller allows: call it, report, end. Out: "ready <pid>\\n", "done\\n" when the function has ended (the
caller takes its last sample while the result is still there), then one length-prefixed pickle of a dict. The function
itself finds an empty standard input; what it prints goes to the standard error, which the caller shows afterwards.

For workers.py it forks: the payload then holds a second function, which each fork calls with what the first one made,
by the same protocol, on descriptors of its own from options["forks"]: two for each.
"""

import gc
import io
import os
import pickle
import sys
import time
import traceback
import warnings

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, SIGKILL = 1, 36, 9


def main() -> None:
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")  # dup'd: programs do not inherit them
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):  # a line at a time, so that none is lost when the process is killed
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    tie_to_the_caller()
    leave_no_core()
    try:
        payload, options = pickle.load(inbox)
        sys.path[:] = options["path"]
        function, args, *use = pickle.loads(payload)
    except BaseException as error:
        outbox.write(b"failed\n")
        send(outbox, {"error": "".join(traceback.format_exception_only(error)).strip()})
        return
    serve(inbox, outbox, function, args, options, *use)


def serve(inbox, outbox, function, args: tuple, options: dict, use=None) -> None:
    outbox.write(b"ready %d\n" % os.getpid())
    outbox.flush()
    inbox.readline()
    report, value = call(function, args, options)
    forks = fork_all(use, value, options, report, (inbox, outbox)) if use else []
    outbox.write(b"done\n")
    outbox.flush()
    inbox.readline()
    if forks:  # they have ended or are about to: the caller sees to that; only their parent is told how
        report["codes"] = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in forks]
    else:
        report["value"], refused = carried_back(value, options["largest_result"])
        report["error"] = report["error"] or refused
    send(outbox, report)
    inbox.readline()


def fork_all(use, data, options: dict, report: dict, ours: tuple) -> list[int]:
    """A fork for each two descriptors of options["forks"], if there are data; each calls use(data), tells, and keeps
    the result. Returns their pids.

    No process holds another's descriptors: else the caller would not see the other's end. And garbage is not collected
    before `use`, for that would write into pages that a fork shares with its parent.
    """
    forks, left = [], list(options["forks"])
    while left:
        mine = left.pop(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that a library may have started: its own fork handlers know
            pid = os.fork() if report["ended"] == "returned" else None
        if pid == 0:
            code = 1
            try:
                for stream in ours:
                    stream.close()
                close(*(fd for pair in left for fd in pair))
                tie_to_the_caller()
                serve(os.fdopen(mine[0], "rb"), os.fdopen(mine[1], "wb"), use, (data,), options | {"tidy": False})
                code = 0
                sys.stdout.flush()
            finally:  # whatever happened, it must not go on in the code of its parent
                os._exit(code)
        close(*mine)
        forks += [pid] if pid else []
    return forks


def close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def call(function, args: tuple, options: dict) -> tuple[dict, object]:
    """Calls it between two readings of this process's own counters; the report, and what it returned."""
    if options["heap"]:
        import tracemalloc
    if options.get("tidy", True):
        gc.collect()
    report: dict = {"ended": "returned", "error": None}
    value, pid = None, os.getpid()
    counters()  # once beforehand, so that their own first-time costs are not counted
    if options["heap"]:
        tracemalloc.start()
        heap_before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
    resident_before = reset_high_water()
    before, began = counters(and_themselves=True), time.perf_counter()
    try:
        value = function(*args)
    except BaseException as error:
        report["ended"] = "raised"
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without this file's own frame
        report["error"] = "".join(traceback.format_exception(type(error), error, frames))
    if os.getpid() != pid:  # the function has forked, and this is the fork: the other one answers
        try:
            sys.stdout.flush()
        finally:
            os._exit(0)
    finished, after = time.perf_counter(), counters()
    if resident_before is not None:
        report["high_water"] = max(0, status("VmHWM") - resident_before)
    if options["heap"]:
        report["heap_peak"] = max(0, tracemalloc.get_traced_memory()[1] - heap_before)
        tracemalloc.stop()
    report |= {"began": began, "finished": finished, "counters": {name: after[name] - before[name] for name in after}}
    return report, value


# --- counters of this process ------------------------------------------------------------------------------
def counters(and_themselves: bool = False) -> dict[str, float]:
    """getrusage(2) and proc_pid_io(5); what the system lacks is left out."""
    found: dict[str, float] = {}
    times = os.times()
    found |= {"user": times.user, "system": times.system}
    try:
        import resource
    except ImportError:  # Windows
        return found
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found |= {
        "user": usage.ru_utime,
        "system": usage.ru_stime,
        "minor": usage.ru_minflt,
        "major": usage.ru_majflt,
        "voluntary": usage.ru_nvcsw,
        "involuntary": usage.ru_nivcsw,
    }
    return found | read_io(and_themselves)


def read_io(and_itself: bool = False) -> dict[str, int]:
    """proc_pid_io(5), as it stood before this reading; or, `and_itself`, as it stands after it."""
    try:
        file = os.open("/proc/self/io", os.O_RDONLY)
    except OSError:
        return {}
    text = os.read(file, 4096)
    os.close(file)
    found = {name: int(number) for name, _, number in (line.partition(": ") for line in text.decode().splitlines())}
    if and_itself:
        found["rchar"] += len(text)
        found["syscr"] += 1
    return found


def status(field: str) -> int | None:
    """One size from /proc/self/status, bytes."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            lines = file.read(8192).decode().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), None)


def reset_high_water() -> int | None:
    """Makes VmHWM count from now on, proc_pid_clear_refs(5); returns what is resident now, or None where it cannot."""
    try:
        with open("/proc/self/clear_refs", "wb", buffering=0) as file:
            file.write(b"5")
    except OSError:
        return None
    return status("VmRSS")


# --- the way back ------------------------------------------------------------------------------------------
class TooLarge(Exception):
    pass


class Bounded(io.RawIOBase):
    """Takes at most `most` bytes, so that a large result costs no memory to refuse."""

    def __init__(self, most: int):
        self.parts, self.left = [], most

    def write(self, part) -> int:
        size = memoryview(part).nbytes
        self.left -= size
        if self.left < 0:
            raise TooLarge
        self.parts.append(bytes(part))
        return size


def carried_back(value, most: int) -> tuple[bytes | None, str | None]:
    """The value pickled, or why it was not sent."""
    import cloudpickle

    box = Bounded(most)
    try:
        cloudpickle.dump(value, box, protocol=5)
    except TooLarge:
        return None, (
            f"the result, a {type(value).__name__}, is larger than {most // 2**20} MiB and was not sent back; "
            "return what you need to know of it: a size, a sum, a digest"
        )
    except Exception as error:
        return None, (
            f"the result, a {type(value).__name__}, cannot leave its process ({error}) and was not sent back; "
            "return plain data instead"
        )
    return b"".join(box.parts), None


def send(outbox, report: dict) -> None:
    data = pickle.dumps(report)
    outbox.write(len(data).to_bytes(8, "little"))
    outbox.write(data)
    outbox.flush()


def tie_to_the_caller() -> None:
    """If the notebook's kernel is killed, so is this process; and what this process starts stays below it, even what
    detaches itself, so that the caller can find and end it. prctl(2), Linux only."""
    if LINUX:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def leave_no_core() -> None:
    """A crash is a result here; nobody wants its core file. setrlimit(2)."""
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main()
