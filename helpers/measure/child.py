"""What the fresh interpreter runs: load the function, say ready, wait, call it, report. process.py starts it by path,
so that nothing but the function's own imports is loaded before the call.

Protocol, on copies of the standard streams it was born with. In: a pickle of (payload, options), then a line for each
step that the caller allows: call it, report, end. Out: "ready <pid>\\n" or "failed\\n", "done\\n" when the function has
ended (the caller takes its last sample while the result is still there), then two parcels: the result, and the report,
a dict. A parcel comes in pieces, each after its length in 4 bytes, and ends with an empty piece; parcel.py opens it.
The function itself finds an empty standard input; what it prints goes to standard error, which the caller shows.

The function may spoil what this file needs afterwards: descriptors, modules, builtins, the root folder. So the file
fetches all that beforehand, into names and descriptors of its own.

For workers.py it forks: the payload then holds a second function, and each fork calls that with the first function's
result, by the same protocol, on two descriptors of its own from options["forks"].
"""

import builtins
import gc
import importlib
import linecache  # noqa: F401  traceback would import it later
import marshal
import os
import pickle
import struct
import sys
import time
import traceback
import warnings
from types import CodeType

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None

__builtins__ = vars(builtins).copy()  # the functions below look builtins up here
LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, SIGKILL = 1, 9
LOST = 117  # the exit status when nothing can be reported: the function closed every descriptor
PIECE = 2**16  # bytes, the longest piece of a parcel
DEPTH, NODES = 100, 2**20  # in a parcel: containers in containers, and values in all
LINES, LINE = 60, 1000  # of an error's text: lines kept at either end, characters kept of a line
HIGH = 4096  # the function may close all file descriptors below this


class Line:
    """To the caller and back, on two descriptors. It keeps the functions it needs, in case `os` is changed."""

    def __init__(self, inbox: int, outbox: int):
        self.inbox, self.outbox = inbox, outbox
        self._read, self._write, self._exit = os.read, os.write, os._exit

    def step(self) -> None:
        """Waits until the caller allows the next step, or is gone."""
        while self._read(self.inbox, 1) not in (b"\n", b""):
            pass

    def tell(self, data) -> None:
        try:
            while data:
                data = data[self._write(self.outbox, data) :]
        except BrokenPipeError:  # nobody is listening any more
            self._exit(1)
        except OSError:  # the function has closed it
            self._exit(LOST)

    def piece(self, data) -> None:
        """Sends a piece of a parcel; an empty piece ends it."""
        self.tell(struct.pack("<I", len(data)) + data)

    def report(self, report: dict) -> None:
        self.piece(packed(report))
        self.piece(b"")


def main() -> None:
    line = Line(out_of_reach(0), out_of_reach(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):  # line by line, so that no line is lost when the process is killed
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    tie_to_the_parent()
    leave_no_core()
    try:
        with os.fdopen(os.dup(line.inbox), "rb") as inbox:
            payload, options = pickle.load(inbox)
        sys.path[:] = options["path"]
        for name in options["modules"]:
            try:
                importlib.import_module(name)
            except BaseException:  # whatever needs the module meets the error there
                continue
        function, args, *use = pickle.loads(payload)
    except BaseException as error:
        line.tell(b"failed\n")
        line.piece(b"")
        line.report({"error": text_of(error)})
        return
    serve(line, function, args, options, *use)


def out_of_reach(descriptor: int) -> int:
    """A copy with a high number, which no program inherits: it survives closing "all" descriptors up to 1,024."""
    if fcntl:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, (HIGH if most < 0 else min(HIGH, most)) - 32)
        except (OSError, ValueError, OverflowError):  # the limit is lower than that
            pass
    return os.dup(descriptor)


def serve(line: Line, function, args: tuple, options: dict, use=None) -> None:
    line.tell(b"ready %d\n" % os.getpid())
    line.step()
    report, value = call(function, args, options)
    forks = fork_all(use, value, options, report, line) if use else []
    line.tell(b"done\n")
    line.step()
    if forks:  # they have ended or will soon: the caller sees to that; only their parent learns how
        report["codes"] = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in forks]
        line.piece(b"")
    else:
        report["refused"] = send(line, value, options["largest_result"], options["objects"])
    line.report(report)
    line.step()


def fork_all(use, data, options: dict, report: dict, ours: Line) -> list[int]:
    """Forks for each pair of descriptors in options["forks"], if there are data. Each fork calls use(data), reports,
    and keeps the result. Returns their pids.

    No process holds another's descriptors: the caller wouldn't see that other process end. No garbage is collected
    before `use`: that would write to pages that a fork shares with its parent.
    """
    forks, left = [], list(options["forks"])
    while left:
        mine = left.pop(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a library's threads: its own fork handlers know about them
            pid = os.fork() if report["ended"] == "returned" else None
        if pid == 0:
            code = 1
            try:
                line = Line(*map(out_of_reach, mine))
                close(*mine, ours.inbox, ours.outbox, *(fd for pair in left for fd in pair))
                tie_to_the_parent()
                serve(line, use, (data,), options | {"tidy": False})
                code = 0
                sys.stdout.flush()
            finally:  # whatever happened, the fork must not go on in its parent's code
                os._exit(code)
        close(*mine)
        forks += [pid] if pid else []
    return forks


def close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def call(function, args: tuple, options: dict, clock=time.perf_counter, quit=os._exit) -> tuple[dict, object]:
    """Calls the function between two readings of this process's counters. Returns the report and the result."""
    if options["heap"]:
        import tracemalloc
    if options.get("tidy", True):
        gc.collect()
    report: dict = {"ended": "returned", "error": None}
    value, getpid, settrace, setprofile = None, os.getpid, sys.settrace, sys.setprofile
    pid, read = getpid(), Counters()
    read.all()  # once beforehand, so that a reading's first-time costs don't count
    if options["heap"]:
        tracemalloc.start()
        heap_before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
    resident_before = read.reset_high_water()
    before, began = read.all(and_themselves=True), clock()
    try:
        value = function(*args)
    except BaseException as error:
        settrace(None)
        report["ended"] = "raised"
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this file's own frame
        report["error"] = text_of(error, traced=True)
    settrace(None)
    setprofile(None)
    if getpid() != pid:  # the function has forked, and this is the fork: the original process answers
        try:
            sys.stdout.flush()
        finally:
            quit(0)
    finished, after = clock(), read.all()
    high_water = read.size_of(b"VmHWM")
    if None not in (resident_before, high_water):
        report["high_water"] = max(0, high_water - resident_before)
    if options["heap"]:
        report["heap_peak"] = max(0, tracemalloc.get_traced_memory()[1] - heap_before)
        tracemalloc.stop()
    counted = {name: after[name] - number for name, number in before.items() if name in after}
    return report | {"began": began, "finished": finished, "counters": counted}, value


def text_of(error: BaseException, traced: bool = False) -> str:
    """The error as text, with its traceback or without, shortened if it is long."""
    try:
        lines = traceback.format_exception(error) if traced else traceback.format_exception_only(error)
        return shortened("".join(lines))
    except BaseException:  # the error's class can define methods that fail
        return f"{type(error).__name__}, which cannot be shown as text"


def shortened(text: str) -> str:
    """A long text's first and last lines, and the beginning of each."""
    most = 4 * LINES * LINE
    if len(text) > most:  # before splitting, which takes as much memory again
        text = f"{text[: most // 2]}\n… {len(text) - most:,} characters left out …\n{text[-most // 2 :]}"
    lines = text.strip("\n").split("\n")
    if len(lines) > 2 * LINES:
        lines[LINES:-LINES] = [f"… {len(lines) - 2 * LINES:,} lines left out …"]
    return "\n".join(line if len(line) <= LINE else f"{line[:LINE]}… ({len(line):,} characters)" for line in lines)


# --- counters of this process ------------------------------------------------------------------------------
class Counters:
    """Files of /proc, kept open: the function may take away all other descriptors, or the root folder."""

    def __init__(self):
        self._io, self._status = self._open("io"), self._open("status")
        self._pread, self._times, self._usage = getattr(os, "pread", None), os.times, resource and resource.getrusage

    @staticmethod
    def _open(name: str) -> int | None:
        try:
            low = os.open(f"/proc/self/{name}", os.O_RDONLY)
        except OSError:
            return None
        try:
            return out_of_reach(low)
        finally:
            os.close(low)

    def _text(self, descriptor: int | None) -> bytes:
        try:
            return b"" if descriptor is None else self._pread(descriptor, 8192, 0)
        except OSError:  # the function has closed it
            return b""

    def all(self, and_themselves: bool = False) -> dict[str, float]:
        """getrusage(2) and proc_pid_io(5); what the system lacks is left out."""
        times = self._times()
        if not self._usage:
            return {"user": times.user, "system": times.system}
        usage = self._usage(resource.RUSAGE_SELF)
        return {
            "user": usage.ru_utime,
            "system": usage.ru_stime,
            "minor": usage.ru_minflt,
            "major": usage.ru_majflt,
            "voluntary": usage.ru_nvcsw,
            "involuntary": usage.ru_nivcsw,
        } | self._moved(and_themselves)

    def _moved(self, and_itself: bool) -> dict[str, int]:
        """proc_pid_io(5) as it stood before this reading; with `and_itself`, as it stands after it."""
        text = self._text(self._io)
        found = {name: int(number) for name, _, number in (line.partition(": ") for line in text.decode().splitlines())}
        if and_itself and found:
            found["rchar"] += len(text)
            found["syscr"] += 1
        return found

    def size_of(self, field: bytes) -> int | None:
        """A size from /proc/self/status, in bytes; None if it isn't there."""
        lines = self._text(self._status).splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + b":")), None)

    def reset_high_water(self) -> int | None:
        """Makes VmHWM start over, proc_pid_clear_refs(5). Returns what is resident now; None where that can't be."""
        try:
            with open("/proc/self/clear_refs", "wb", buffering=0) as file:
                file.write(b"5")
        except OSError:
            return None
        return self.size_of(b"VmRSS")


# --- the way back ------------------------------------------------------------------------------------------
class Refused(Exception):
    """Why a value isn't sent."""


class Box:
    """Takes a value's bytes, up to `most`, and passes them on in pieces, so that a large result costs no memory."""

    def __init__(self, pass_on, most: int):
        self.pass_on, self.most, self.size, self.nodes, self.held = pass_on, most, 0, 0, bytearray()

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > NODES:
            raise Refused(f"holds more than {NODES:,} values; return an array, or only some of them")

    def room_for(self, size: int) -> None:
        if self.size + size > self.most:
            raise Refused(
                f"is larger than {self.most // 2**20} MiB; return what you need to know of it: a size, a sum, a digest"
            )

    def write(self, part) -> int:
        part = memoryview(part).cast("B")
        self.room_for(len(part))
        self.size += len(part)
        for at in range(0, len(part), PIECE):
            self.held += part[at : at + PIECE]
            if len(self.held) >= PIECE:
                self.flush()
        return len(part)

    def flush(self) -> None:
        if self.held:
            self.pass_on(self.held)
            self.held = bytearray()


def send(line: Line, value, most: int, objects: bool) -> str | None:
    """Sends the value as a parcel. Returns None, or why it refused, though some of it may be on its way by then."""
    box, why = Box(line.piece, most), None
    try:
        if objects:
            dump(value, box)
        else:
            pack(value, box)
        box.flush()
    except Refused as error:
        why = str(error)
    except BaseException as error:
        why = f"cannot leave its process ({text_of(error)}); return plain data instead"
    line.piece(b"")
    return why and f"the result, a {type(value).__name__}, was not sent back: it {why}"


def dump(value, file) -> None:
    """cloudpickle.dump, except that code keeps its file's name, for tracebacks: cloudpickle 3.1.3 takes it away.

    marshal keeps it. It needs the same Python at both ends, and both are sys.executable.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj):
            if type(obj) is CodeType:
                try:
                    return marshal.loads, (marshal.dumps(obj),)
                except ValueError:  # it has a constant that no compiler puts there
                    pass
            return super().reducer_override(obj)

    Pickler(file, protocol=5).dump(value)


def packed(report: dict) -> bytes:
    whole = bytearray()
    box = Box(whole.extend, 2**20)
    pack(report, box)
    box.flush()
    return whole


def pack(value, box: Box, depth: int = DEPTH) -> None:
    """Plain data as bytes: a letter for the type, then the length if the type has one, then the contents."""
    box.count()
    kind, numpy = type(value), sys.modules.get("numpy")
    if value is None or value is True or value is False:
        box.write({None: b"N", True: b"T", False: b"F"}[value])
    elif kind is int:
        length = value.bit_length() // 8 + 1
        box.room_for(length)
        box.write(struct.pack("<cQ", b"i", length) + value.to_bytes(length, "little", signed=True))
    elif kind is float:
        box.write(struct.pack("<cd", b"f", value))
    elif kind is complex:
        box.write(struct.pack("<cdd", b"c", value.real, value.imag))
    elif kind is str or kind is bytes:
        box.room_for(len(value))
        data = value if kind is bytes else value.encode("utf-8", "surrogatepass")
        box.write(struct.pack("<cQ", b"b" if kind is bytes else b"s", len(data)))
        box.write(data)
    elif kind is list or kind is tuple or kind is dict:
        if not depth:
            raise Refused(f"nests containers more than {DEPTH} deep")
        letter = b"l" if kind is list else b"t" if kind is tuple else b"d"
        box.write(struct.pack("<cQ", letter, len(value)))
        for part in value:
            pack(part, box, depth - 1)
            if kind is dict:
                pack(value[part], box, depth - 1)
    elif numpy and isinstance(value, (numpy.ndarray, numpy.generic)):
        pack_array(value, box, depth, numpy)
    else:
        raise Refused(
            f"is or holds a {kind.__name__}, and only plain data come back: None, numbers, str, bytes, lists, tuples, "
            "dicts, and numpy arrays without objects; return what you need to know of it"
        )


def pack_array(value, box: Box, depth: int, numpy) -> None:
    """An array of any class, or a scalar: its dtype, its shape, and its bytes in C order."""
    letter, array = b"a" if isinstance(value, numpy.ndarray) else b"n", numpy.asarray(value)
    box.room_for(array.nbytes)  # a broadcast array counts in full: nothing has been copied so far
    dtype = array.dtype.descr if array.dtype.names else array.dtype.str
    if array.dtype.hasobject or not array.dtype.itemsize or numpy.dtype(dtype) != array.dtype:
        raise Refused(f"is or holds an array of {array.dtype}, which is not plain data")
    box.write(letter)
    pack(dtype, box, depth)
    pack(array.shape, box, depth)
    box.write(struct.pack("<Q", array.nbytes))
    step = max(1, PIECE // array.dtype.itemsize)
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    for at in range(0, array.size, step):
        box.write(flat[at : at + step].tobytes())


def tie_to_the_parent() -> None:
    """If the parent is killed, so is this process. prctl(2), Linux only."""
    if LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)


def leave_no_core() -> None:
    """A crash is a result here, and nobody wants its core file. setrlimit(2)."""
    if resource:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main()
