"""`Child`: the caller's end of child.py's protocol. run.py, workers.py and explorer.py decide what
runs there.
"""

import io
import os
import pickle
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, BinaryIO

import psutil

from ..units import KiB, MiB
from . import marks
from .child import LOST, NOT_MARKED, shortened
from .pickling import Pickler
from .wire import receive, unpacked

CHILD, WATCH = (Path(__file__).with_name(name) for name in ("child.py", "watch.py"))
LINUX = sys.platform == "linux"
POSIX = os.name == "posix"
START_LIMIT_S = 60.0  # for a fresh interpreter to start and load the function
FENCED_S = START_LIMIT_S / 2  # where a command starts it
GRACE_S = 5.0  # for a process that has reported to end by itself
MOST_PRINTED = 64 * MiB  # what a function may print before it is stopped
CREDENTIALS = struct.Struct("3i")  # pid, uid and gid of the sender, unix(7)
LOST_CONTACT = (
    "the process could not report: the function closed every file descriptor, or wrote to them all"
)
REPORT = {  # what a report may hold; anything else is dropped
    "ended": str,
    "error": str,
    "refused": str,
    "counters": dict,
    "codes": list,
    "began": float,
    "finished": float,
    "high_water": int,
    "heap_peak": int,
    "heap_left": int,
    "imported": int,
    "imports": list,
    "marks": list,
    "marked": int,
}


class NotStarted(TimeoutError):
    """What the function imports may be a program that doesn't end."""


@dataclass(eq=False)
class Child:
    """A process that runs child.py. `stopped` says why the caller stopped waiting for it: "timed
    out".

    printed  where its output goes: a file, whose size is limited, or a descriptor
    inbox    what it reads its orders from
    objects  and `asked`: as `objects` and `stop` in run.Options
    watch    the socket to watch.py; None for a fork, and where there is no watch.py
    forks    that it makes when its function has ended, by the descriptors that these need
    """

    name: str
    printed: BinaryIO | int
    inbox: BinaryIO
    mail: "Mail"
    objects: bool = False
    asked: Callable[[], str | None] = lambda: None
    process: Popen | None = None  # None for a fork
    watch: socket.socket | None = None
    has_command: bool = False
    forks: Mapping[tuple[int, int], "Child"] = field(default_factory=dict)
    stopped: str | None = None
    code: int | None = None

    # --- the life of a process --------------------------------------------------------------------
    def send(self, payload: bytes, **options: Any) -> None:
        """The function and its arguments, and child.py's options."""
        usual = {
            "path": sys.path,
            "heap": False,
            "stack": None,
            "warm": False,
            "calls": (),
            "modules": (),
            "objects": self.objects,
            "marks": marks.__name__,
            "largest_result": self.mail.largest,
            "forks": [*self.forks],
        }
        with suppress(OSError):  # if it has ended, that shows elsewhere
            pickle.dump((payload, usual | options), self.inbox)
            self.inbox.flush()

    def greet(self, label: str, more: float = 0) -> None:
        """Waits until it has loaded what was sent, `more` seconds longer than usual; else
        NotStarted or TypeError.
        """
        most = (FENCED_S if self.has_command else START_LIMIT_S) + more
        if not self.mail.greeting.wait(min(most, threading.TIMEOUT_MAX)):
            raise NotStarted(f"{label}: a fresh interpreter did not start within {most:.0f} s")
        if self.mail.pid is None:
            self.mail.report.wait(START_LIMIT_S)
            raise self.not_loaded(label)

    def not_loaded(self, label: str) -> TypeError:
        reason = self.mail.message.get("error", "the interpreter ended meanwhile")
        if NOT_MARKED in reason:
            return TypeError(reason.removeprefix("TypeError: "))
        needs = (
            "What it imports must be importable there, and what it uses from the notebook must be "
            "picklable"
        )
        return TypeError(f"{label} could not be loaded in a fresh interpreter: {reason}. {needs}")

    def allow(self, step: bytes) -> None:
        """Lets it go on: call the function, report, end."""
        with suppress(OSError):
            self.inbox.write(step + b"\n")
            self.inbox.flush()

    def alive(self) -> bool:
        if self.process is None:
            with suppress(psutil.NoSuchProcess):
                return psutil.Process(self.mail.pid).status() != psutil.STATUS_ZOMBIE
            return False
        if self.code is None and self.watch is None:
            self.code = self.process.poll()
        elif self.code is None:
            with suppress(OSError, ValueError):  # watch.py has sent nothing yet, or has ended
                self.code = int(self.watch.recv(64, socket.MSG_DONTWAIT))
        return self.code is None and self.process.poll() is None

    def stop(self, why: str | None) -> None:
        """From now on nobody waits for it. The first reason counts; None is no reason."""
        self.stopped = self.stopped or why

    def keep_to_limits(self) -> None:
        """Stops it if it has printed too much, or was asked to stop."""
        if not isinstance(self.printed, int):
            file = os.fstat(self.printed.fileno())
            # Blocks allocated past the file's end count too: fallocate(2), FALLOC_FL_KEEP_SIZE.
            if max(file.st_size, 512 * getattr(file, "st_blocks", 0)) > MOST_PRINTED:
                self.stop("printed too much")
        self.stop(self.asked())

    def wait(self, event: threading.Event, end: float) -> None:
        """Waits for the event until `end` (of time.perf_counter), then stops it. In short steps:
        what a dead process has started may hold its pipe open.
        """
        while not (event.wait(0.02) or self.stopped) and self.alive():
            self.keep_to_limits()
            if time.perf_counter() > end:
                self.stop("timed out")

    def report(self, end: float) -> None:
        """Asks for the report and waits for it until `end`; kills a stopped process. It tells how
        its forks have ended.
        """
        if not self.stopped:
            self.allow(b"report")
            self.wait(self.mail.report, end)
        if self.stopped:
            with suppress(ProcessLookupError):
                os.kill(self.mail.pid, signal.SIGKILL)
        made = [fork for fork in self.forks.values() if fork.mail.pid]
        for fork, code in zip(made, self.mail.message.get("codes", ()), strict=False):
            fork.code = code

    def leave(self, end: float = 0) -> None:
        """Lets a process that has reported end by itself, until `end`, or for a while: it may have
        to clean up.
        """
        if not self.stopped:
            self.allow(b"end")
            end = end or time.perf_counter() + GRACE_S
            while self.alive() and time.perf_counter() < end:
                time.sleep(0.002)

    # --- what came back ---------------------------------------------------------------------------
    @property
    def value(self) -> tuple[Any, str | None]:
        """What the function returned, or None and why it isn't here."""
        refused = self.mail.message.get("refused")
        data = self.mail.value
        if refused or not data or self.ended != "returned":
            return None, refused
        try:
            return (pickle.loads(data) if self.objects else unpacked(data)), None
        except Exception as error:
            reason = f"the result came back, but cannot be rebuilt here ({shortened(str(error))})"
            return None, f"{reason}; return plain data instead"

    @property
    def ended(self) -> str:
        if self.stopped or self.mail.message:
            return self.stopped or self.mail.message["ended"]
        if self.code in (None, LOST):
            return "lost contact"
        return ended_by(128 - self.code if self.has_command and self.code > 128 else self.code)

    @property
    def error(self) -> str | None:
        return LOST_CONTACT if self.ended == "lost contact" else self.mail.message.get("error")

    # --- its end ----------------------------------------------------------------------------------
    def end(self) -> None:
        """Ends it, and everything that it started."""
        try:
            if self.watch:
                self._tell_watch()
            elif self.process:
                self._kill()
        finally:
            with suppress(OSError):
                self.inbox.close()
            self.mail.join(2)
            if not self.mail.is_alive():  # else a process out of reach still holds the other end
                self.mail.stream.close()
                self.mail.replies.close()

    def _tell_watch(self) -> None:
        """watch.py kills everything that is left, then ends itself."""
        self.process.send_signal(signal.SIGCONT)
        try:
            self.watch.shutdown(socket.SHUT_WR)
            self.watch.settimeout(2 * GRACE_S)
            while self.watch.recv(64):
                pass
        except OSError:  # watch.py was killed, or something waits for a device
            self.process.kill()
        self.process.wait()

    def _kill(self) -> None:
        """What it started is found by psutil, unless that has detached itself."""
        started = []
        with suppress(psutil.NoSuchProcess):
            if self.alive():  # else its number may be another process's by now
                started = psutil.Process(self.process.pid).children(recursive=True)
        for each in (*started, self.process):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait()
        if POSIX:
            with suppress(ProcessLookupError, PermissionError):  # what outlived its parent
                os.killpg(self.process.pid, signal.SIGKILL)
        psutil.wait_procs(started, timeout=GRACE_S)


@contextmanager
def spawn(
    name: str,
    printed: BinaryIO | int,
    largest: int = 0,
    command: Sequence[str] = (),
    descriptors: Sequence[int] = (),
    forks: Sequence[str] = (),
    **more: Any,
) -> Iterator[Child]:
    """A fresh interpreter, which inherits `descriptors`. It ends with everything it started: on
    Linux, watch.py sees to that, even when this program is killed.

    `largest` is how many bytes a result may have. `command` starts the interpreter, and must become
    it (exec) or end as a shell would (128 plus the signal). `forks` are the names of those that it
    will make of itself. `more`: `asked` and `objects` of Child.
    """
    program = [*command, sys.executable, str(CHILD)]
    watch = None
    with ExitStack() as ours:
        with ExitStack() as theirs:
            made = {}
            for each in forks:
                its_inbox, inbox = os.pipe()
                theirs.callback(os.close, its_inbox)
                inbox = ours.enter_context(os.fdopen(inbox, "wb"))
                replies, outbox = reply_channel(ours, theirs)
                mail = Mail(replies, largest)
                made[its_inbox, outbox] = _listening(
                    Child(each, printed, inbox, mail, **more), ours
                )
            replies, outbox = reply_channel(ours, theirs)
            descriptors = [*descriptors, *chain(*made)]
            if LINUX:
                watch, its_end = _pair(ours, theirs)
                descriptors.append(its_end)
                program = [sys.executable, "-I", "-S", str(WATCH), str(its_end), *program]
            process = Popen(
                program,
                stdin=PIPE,
                stdout=outbox,
                stderr=printed,
                start_new_session=POSIX,
                pass_fds=descriptors,
            )
        mail = Mail(replies or process.stdout, largest)
        more |= {"process": process, "watch": watch, "has_command": bool(command), "forks": made}
        yield _listening(Child(name, printed, process.stdin, mail, **more), ours)


def _listening(child: Child, ours: ExitStack) -> Child:
    ours.callback(child.end)
    child.mail.start()
    return child


def reply_channel(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket | None, int]:
    """Our end to read the child's replies from, and the child's end. A socket tells who sent:
    unix(7).
    """
    if not POSIX:
        return None, PIPE
    sock, its_end = _pair(ours, theirs)
    if LINUX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return sock, its_end


def _pair(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket, int]:
    sock, its_end = socket.socketpair()
    ours.enter_context(sock)
    return sock, theirs.enter_context(its_end).fileno()


class Mail(threading.Thread):
    """Reads what the child sends, while the caller samples. Whatever comes is limited in size, and
    never run.

    pid  of the process that said ready, from the kernel where it tells; None if none did
    """

    def __init__(self, replies: "socket.socket | BinaryIO", largest: int):
        super().__init__(daemon=True)
        self.replies, self.largest = replies, largest
        self.stream = replies.makefile("rb") if isinstance(replies, socket.socket) else replies
        self.pid: int | None = None
        self.value, self.message = b"", {}
        self.greeting, self.done, self.report = (threading.Event() for _ in range(3))

    def run(self) -> None:
        try:
            sender = self._sender() if LINUX else None
            line = self.stream.readline(64)
            self.pid = (sender or int(line.split()[1])) if line.startswith(b"ready ") else None
            self.greeting.set()
            if self.pid is not None and self.stream.readline(64) == b"done\n":
                self.done.set()
            self.value = receive(self.stream, self.largest)
            self.message = _checked(unpacked(receive(self.stream, 2 * MiB)))
        except (EOFError, ValueError, OSError):  # `message` stays empty, which says it
            pass
        finally:
            self.greeting.set()
            self.report.set()

    def _sender(self) -> int | None:
        """Waits for the first byte, and asks for its sender's process number, as seen from here."""
        room = socket.CMSG_SPACE(CREDENTIALS.size)
        for _, kind, data in self.replies.recvmsg(1, room, socket.MSG_PEEK)[1]:
            if kind == socket.SCM_CREDENTIALS:
                return CREDENTIALS.unpack(data)[0]
        return None


def _checked(report: Any) -> dict:
    """The fields of a report that have the right types. ValueError if it isn't a report."""
    if not isinstance(report, dict) or report.get("ended", "raised") not in ("returned", "raised"):
        raise ValueError(f"not a report: {report!r:.80}")
    fields = {name: report[name] for name, kind in REPORT.items() if type(report.get(name)) is kind}
    fields |= {name: shortened(text) for name, text in fields.items() if type(text) is str}
    counters = fields.get("counters", {}).items()
    fields["counters"] = {n: c for n, c in counters if type(c) in (int, float) and isfinite(c)}
    for name, kind in (("imports", str), ("codes", int)):
        fields[name] = [one for one in fields.get(name, ()) if type(one) is kind]
    fields["marks"] = [mark for mark in fields.get("marks", ()) if _is_mark(mark)]
    return {"ended": "raised"} | fields


def _is_mark(mark: Any) -> bool:
    """A name, a time, the number of a call, bytes read; perhaps a size for each kind of memory."""
    kinds = [type(part) for part in mark] if type(mark) is tuple else []
    return kinds in ([str, float] + [int] * n for n in (2, 5)) and isfinite(mark[1])


def named(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def pickled(function: Callable, args: tuple, label: str, *more: Callable) -> bytes:
    try:
        with io.BytesIO() as file:
            Pickler(file).dump((function, args, *more))
            return file.getvalue()
    except Exception as error:
        inside = (
            "Open files, mappings and locks inside the function, and pass it paths and plain data"
        )
        raise TypeError(
            f"{label} cannot be carried to a fresh interpreter: {error}. {inside}"
        ) from error


@contextmanager
def shown() -> Iterator[BinaryIO]:
    """A file for what functions print. In the end that is shown; if it is long, only its beginning
    and its end.
    """
    with tempfile.TemporaryFile() as printed:
        try:
            yield printed
        finally:
            length = printed.seek(0, os.SEEK_END)
            most = 64 * KiB
            printed.seek(0)
            text = printed.read(most).decode(errors="replace")
            if length > most:
                printed.seek(max(most, length - most))
                left_out = printed.tell() - most
                text += f"\n… {left_out:,} bytes left out …\n" * bool(left_out)
                text += printed.read().decode(errors="replace")
            sys.stdout.write(text)


def ended_by(code: int) -> str:
    """How a process ended by itself, from `subprocess.Popen.returncode`, which is negative for a
    signal.
    """
    if code >= 0:
        return f"exited {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal between the named ones
        return f"signal {-code}"
