"""What the fresh interpreter runs: load the function, say ready, wait, call it, report. process.py
starts it by path, so that nothing but the function's own imports is loaded before the call.

Protocol, on copies of the standard streams that it starts with. In: a pickle of (payload, options),
then a line for each step that the caller allows: call it, report, end. Out: "ready <pid>\\n" or
"failed\\n", "done\\n" when the function has ended (the caller takes its last sample while the
result is still there), then two parcels: the result, and the report, a dict. The function finds an
empty standard input; what it prints goes to standard error, which the caller shows.

The measured function may close descriptors, patch modules and builtins, or change the root folder.
So this file saves everything that it needs later before the call.

For workers.py it forks: the payload then holds a second function, and each fork calls that with the
first function's result, by the same protocol, on two descriptors of its own from options["forks"].
"""

import builtins
import gc
import importlib
import linecache  # noqa: F401  traceback would import it later
import marshal
import os
import pickle
import sys
import time
import traceback
import warnings
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    ModuleType,
)

if __package__:
    from . import inside, marks
    from .wire import Box, Refused, framed, pack, packed
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import inside
    import marks
    from wire import Box, Refused, framed, pack, packed

    for name in ("inside", "marks", "wire"):  # the function may have modules of these names
        del sys.modules[name]

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None

__builtins__ = vars(builtins).copy()  # the functions below look builtins up here
LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, SIGKILL = 1, 9
LOST = 117  # the exit status when nothing can be reported: the function closed every descriptor
CO_COROUTINE = 128  # inspect's flag of an `async def`
NOT_RUN = (
    "cannot leave its process, and none of its code has run: that runs only as its values are "
    "used; use them there, in a loop or in sum(…)"
)
USAGE = {  # the fields of getrusage(2)
    "user": "ru_utime",
    "system": "ru_stime",
    "minor": "ru_minflt",
    "major": "ru_majflt",
    "voluntary": "ru_nvcsw",
    "involuntary": "ru_nivcsw",
}
NOT_MARKED = "can't mark the calls of"
# of an error's text: lines at either end, characters of a line
LINES_KEPT, LONGEST_LINE = (60, 1000)
MOST_MARKS = 1000
LONGEST_NAME = 100
KINDS = (b"RssAnon", b"RssFile", b"RssShmem")  # of marks
HIGH = 4096  # the function may close all file descriptors below this


class Channel:
    """To the caller and back, on two descriptors. It keeps the functions it needs, in case `os` is
    changed.
    """

    def __init__(self, inbox: int, outbox: int):
        self.inbox, self.outbox = inbox, outbox
        self._read = os.read
        self._write = os.write
        self._exit = os._exit

    def step(self) -> None:
        """Waits until the caller allows the next step, or is gone."""
        while self._read(self.inbox, 1) not in (b"\n", b""):
            pass

    def tell(self, data) -> None:
        data = memoryview(data)
        try:
            while data:
                data = data[self._write(self.outbox, data) :]
        except OSError:  # the function has closed it, or nobody is listening any more
            self._exit(LOST)

    def piece(self, data) -> None:
        self.tell(framed(data))

    def send(self, report: dict) -> None:
        self.piece(packed(report))
        self.piece(b"")

    def send_result(self, value, most: int, objects: bool) -> str | None:
        """Sends the value. Returns None, or why it didn't, though some of it may be on its way by
        then.
        """
        box = Box(most, self.piece)
        reason = None
        try:
            (dump if objects else pack)(value, box)
            box.flush()
        except Refused as error:
            reason = str(error)
        except BaseException as error:
            reason = f"cannot leave its process ({text_of(error)}); return plain data instead"
            if type(value) in (GeneratorType, AsyncGeneratorType):
                reason = NOT_RUN
        self.piece(b"")
        return reason and f"the result, a {type(value).__name__}, was not sent back: it {reason}"


def main() -> None:
    channel = Channel(out_of_reach(0), out_of_reach(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # line by line, so that no line is lost when the process is killed
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    tie_to_the_parent()
    if resource:  # a crash is a result here, and nobody wants its core file: setrlimit(2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        with os.fdopen(os.dup(channel.inbox), "rb") as inbox:
            payload, options = pickle.load(inbox)
        sys.path[:] = options["path"]
        sys.modules[options["marks"]] = marks
        if options["stack"]:  # Arrow's own allocator takes a GiB of addresses for one byte
            os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        for name in options["modules"]:
            try:
                importlib.import_module(name)
            except BaseException:  # whatever needs the module meets the error there
                continue
        mark_all([place for place in options["calls"] if ":" in place], {})
        this = sys.modules["__main__"]  # noqa: F841  its functions go on
        sys.modules["__main__"] = main = ModuleType("__main__")
        function, args, *use = pickle.loads(payload)
        del payload  # it would tell what a runner takes away from its arguments
        if (names := getattr(function, "__globals__", {})).get("__name__") == "__main__":
            # process pools and pickle find the notebook's functions and classes by name
            vars(main).update(names)
        mark_all([place for place in options["calls"] if ":" not in place], names)
        codes = [
            value.__code__ for value in (function, *names.values()) if type(value) is FunctionType
        ]
        if any(code.co_flags & CO_COROUTINE for code in codes):
            importlib.import_module("asyncio")
        if options["marks"] in options["modules"]:
            inside.stand_in(options["marks"].rpartition(".")[0], marks.mark)
        if options["warm"]:
            warm_up(function, args)
    except BaseException as error:
        channel.tell(b"failed\n")
        channel.piece(b"")
        channel.send({"error": text_of(error)})
        return
    serve(channel, function, args, options, *use)


def mark_all(places: list, names: dict) -> None:
    for place in places:
        try:
            inside.mark_calls(place, marks.mark, names)
        except Exception as error:
            raise TypeError(f"{NOT_MARKED} {place}: {text_of(error)}") from None


def warm_up(function, args: tuple) -> None:
    """A call that isn't measured. What it returns is let go of, and what it raises the measured
    call will raise too.
    """
    try:  # noqa: SIM105  contextlib isn't loaded, and would be missing among what the function imports
        outcome(function, args)
    except BaseException:
        pass
    gc.collect()
    # else the measured call would get what this one has freed
    if LINUX and hasattr(libc(), "malloc_trim"):
        libc().malloc_trim(0)


def outcome(function, args: tuple):
    """What the function returns; if that's a coroutine, it runs, and this is what that returns."""
    value = function(*args)
    return importlib.import_module("asyncio").run(value) if type(value) is CoroutineType else value


def out_of_reach(descriptor: int) -> int:
    """A copy with a high number, which no program inherits: it survives closing "all" descriptors
    up to 1,024.
    """
    if fcntl:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        try:
            return fcntl.fcntl(
                descriptor, fcntl.F_DUPFD_CLOEXEC, (HIGH if most < 0 else min(HIGH, most)) - 32
            )
        except (OSError, ValueError, OverflowError):  # the limit is lower than that
            pass
    return os.dup(descriptor)


def serve(channel: Channel, function, args: tuple, options: dict, use=None) -> None:
    channel.tell(b"ready %d\n" % os.getpid())
    channel.step()
    report, value = call(function, args, options)
    forks = fork_all(use, value, options, report, channel) if use else []
    channel.tell(b"done\n")
    channel.step()
    if forks:  # they have ended or will soon: the caller sees to that; only their parent learns how
        report["codes"] = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in forks]
        channel.piece(b"")
    else:
        report["refused"] = channel.send_result(
            value, options["largest_result"], options["objects"]
        )
    channel.send(report)
    channel.step()


def fork_all(use, data, options: dict, report: dict, parents: Channel) -> list[int]:
    """Forks for each pair of descriptors in options["forks"], if there are data. Each fork calls
    use(data), reports, and keeps the result. Returns their pids.

    No process holds another's descriptors: the caller wouldn't see that other process end. No
    garbage is collected before `use`: that would write to pages that a fork shares with its parent.
    """
    forks = []
    left = list(options["forks"])
    while left:
        mine = left.pop(0)
        with warnings.catch_warnings():
            # about a library's threads: its own fork handlers know about them
            warnings.simplefilter("ignore")
            pid = os.fork() if report["ended"] == "returned" else None
        if pid == 0:
            code = 1
            try:
                channel = Channel(*map(out_of_reach, mine))
                for descriptor in (
                    *mine,
                    parents.inbox,
                    parents.outbox,
                    *(fd for pair in left for fd in pair),
                ):
                    os.close(descriptor)
                tie_to_the_parent()
                serve(channel, use, (data,), options | {"tidy": False})
                code = 0
                sys.stdout.flush()
            finally:  # whatever happened, the fork must not go on in its parent's code
                os._exit(code)
        for descriptor in mine:
            os.close(descriptor)
        forks += [pid] if pid else []
    return forks


def call(
    function, args: tuple, options: dict, clock=time.perf_counter, quit=os._exit
) -> tuple[dict, object]:
    """Calls the function between two readings of this process's counters. Returns the report and
    the result.
    """
    if options.get("tidy", True):
        gc.collect()
    report: dict = {"ended": "returned", "error": None}
    value = None
    getpid = os.getpid
    settrace = sys.settrace
    setprofile = sys.setprofile
    pid = getpid()
    read = Counters()
    read.all()  # once beforehand, so that a reading's first-time costs don't count
    if options["heap"]:
        import tracemalloc

        tracemalloc.start()
        heap_before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
    stacks = inside.Stacks(*options["stack"]) if options["stack"] else None
    resident_before = read.reset_high_water()
    imports = inside.Imports(lambda: sum(read.sizes(b"VmRSS")))
    marked = []

    def note(name, call):
        report["marked"] = report.get("marked", 0) + 1
        call = call or -report["marked"]
        marked.append(
            (
                str(name)[:LONGEST_NAME],
                clock(),
                call,
                read.all().get("rchar", 0),
                read.sizes(*KINDS),
            )
        )
        if len(marked) >= MOST_MARKS:
            marked[:] = inside.fewer(marked)

    marks.note, kinds = note, read.sizes(*KINDS)
    before = read.all()
    began = clock()
    if stacks:
        stacks.begin()
    try:
        value = outcome(function, args)
    except BaseException as error:
        settrace(None)
        report["ended"] = "raised"
        error.__traceback__ = from_its_own_code(error.__traceback__)
        report["error"] = text_of(error, traced=True)
    settrace(None)
    setprofile(None)
    # the function has forked, and this is the fork: the original process answers
    if getpid() != pid:
        try:
            sys.stdout.flush()
        finally:
            quit(0)
    finished = clock()
    after = read.all()
    if stacks:
        stacks.end()
    if resident_before:
        report["high_water"] = max(0, sum(read.sizes(b"VmHWM")) - sum(resident_before))
    if options["heap"]:
        left, peak = tracemalloc.get_traced_memory()
        report["heap_left"], report["heap_peak"] = left - heap_before, max(0, peak - heap_before)
        tracemalloc.stop()
    imports.stop()
    marks.note = None
    report["marks"] = [
        (name, at - began, call, rchar - before.get("rchar", 0), *map(int.__sub__, sizes, kinds))
        for name, at, call, rchar, sizes in marked
    ]
    if kinds:
        report["imported"], report["imports"] = imports.bytes, imports.largest()
    counted = {name: after[name] - number for name, number in before.items() if name in after}
    return report | {"began": began, "finished": finished, "counters": counted}, value


def from_its_own_code(trace):
    """A traceback without the frames that it begins with of this file, and of asyncio.run."""
    while trace and trace.tb_next:
        frame = trace.tb_frame
        if frame.f_code.co_filename != __file__ and not frame.f_globals.get(
            "__name__", ""
        ).startswith("asyncio"):
            break
        trace = trace.tb_next
    return trace


def text_of(error: BaseException, traced: bool = False) -> str:
    try:
        lines = (
            traceback.format_exception(error) if traced else traceback.format_exception_only(error)
        )
        return shortened("".join(lines))
    except BaseException:  # the error's class can define methods that fail
        return f"{type(error).__name__}, which cannot be shown as text"


def shortened(text: str) -> str:
    """A long text's first and last lines, and the beginning of each."""
    most = 4 * LINES_KEPT * LONGEST_LINE
    if len(text) > most:  # before splitting, which takes as much memory again
        text = (
            f"{text[: most // 2]}\n… {len(text) - most:,} characters left out "
            f"…\n{text[-most // 2 :]}"
        )
    lines = text.strip("\n").split("\n")
    if len(lines) > 2 * LINES_KEPT:
        lines[LINES_KEPT:-LINES_KEPT] = [f"… {len(lines) - 2 * LINES_KEPT:,} lines left out …"]
    long = LONGEST_LINE
    return "\n".join(
        line if len(line) <= long else f"{line[:long]}… ({len(line):,} characters)"
        for line in lines
    )


# --- counters of this process ---------------------------------------------------------------------
class Counters:
    """Files of /proc, kept open: the function may take away all other descriptors, or the root
    folder.
    """

    def __init__(self):
        self._pread = getattr(os, "pread", None)
        self._times = os.times
        self._usage = resource and resource.getrusage
        self._files = {}
        self._own = {"syscr": 0, "rchar": 0}
        for name in ("io", "status"):
            try:
                low = os.open(f"/proc/self/{name}", os.O_RDONLY)
            except OSError:
                continue
            self._files[name] = out_of_reach(low)
            os.close(low)

    def _text(self, name: str) -> bytes:
        try:
            text = self._pread(self._files[name], 8192, 0)
        except (KeyError, OSError):  # there is none; the function has closed it
            return b""
        self._own["syscr"] += 1
        self._own["rchar"] += len(text)
        return text

    def all(self) -> dict[str, float]:
        """getrusage(2) and proc_pid_io(5), without what these readings add; what the system lacks
        is left out.
        """
        times = self._times()
        if not self._usage:
            return {"user": times.user, "system": times.system}
        usage = self._usage(resource.RUSAGE_SELF)
        counts = {name: getattr(usage, field) for name, field in USAGE.items()}
        own = self._own.copy()  # the text is as it stood before its reading
        lines = (line.partition(": ") for line in self._text("io").decode().splitlines())
        return counts | {name: int(number) - own.get(name, 0) for name, _, number in lines}

    def sizes(self, *names: bytes) -> list[int]:
        """Sizes from /proc/self/status, in bytes; [] where the system doesn't tell."""
        text = self._text("status")
        try:
            return [
                int(text[text.index(b"\n%b:" % name) :].split(None, 2)[1]) * 1024 for name in names
            ]
        except ValueError:
            return []

    def reset_high_water(self) -> list[int]:
        """Makes VmHWM start over, proc_pid_clear_refs(5). Returns what is resident now; [] where
        that can't be.
        """
        try:
            with open("/proc/self/clear_refs", "wb", buffering=0) as file:
                file.write(b"5")
        except OSError:
            return []
        return self.sizes(b"VmRSS")


def dump(value, file) -> None:
    """cloudpickle.dump, except that code keeps its file's name, for tracebacks: cloudpickle 3.1.3
    takes it away.

    marshal keeps it. It needs the same Python at both ends, and both are sys.executable.
    """
    import cloudpickle

    of_code = {CodeType: lambda code: (marshal.loads, (marshal.dumps(code),))}

    class Pickler(cloudpickle.Pickler):
        dispatch_table = cloudpickle.Pickler.dispatch_table | of_code

    Pickler(file, protocol=5).dump(value)


def tie_to_the_parent() -> None:
    """If the parent is killed, so is this process. prctl(2), Linux only."""
    if LINUX:
        libc().prctl(PR_SET_PDEATHSIG, SIGKILL)


def libc():
    import ctypes

    return ctypes.CDLL(None)


if __name__ == "__main__":
    main()
