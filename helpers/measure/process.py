"""`Process`: the caller's end of child.py's protocol. run.py, workers.py and explorer.py decide
what runs there.
"""

import io
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, BinaryIO

import psutil

from ..units import KiB, MiB
from . import marks
from .child import LOST, NOT_MARKED, shortened
from .parcel import receive, unpacked
from .travel import Pickler

CHILD, WATCH = (Path(__file__).with_name(name) for name in ("child.py", "watch.py"))
LINUX = sys.platform == "linux"
POSIX = os.name == "posix"
START_LIMIT_S = 60.0  # for a fresh interpreter to start and load the function
GRACE_S = 5.0  # for a process that has reported to end by itself
MOST_PRINTED = 64 * MiB  # what a function may print before it is stopped
CREDENTIALS = struct.Struct("3i")  # pid, uid and gid of the sender, unix(7)
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


@dataclass(eq=False)
class Process:
    """A fresh interpreter, or a fork of it. `stopped` says why the caller stopped waiting for it:
    "timed out".

    On Linux, watch.py starts it, and ends it with everything it started, even when this program is
    killed. Elsewhere psutil finds what it started, unless that has detached itself.

    `largest` is how many bytes a result may have; `objects` and `stop` are as in `Options`.
    """

    name: str
    largest: int = 0
    objects: bool = False
    stop: Callable[[], str | None] = lambda: None
    stopped: str | None = None
    code: int | None = None
    has_command: bool = False
    process: Popen | None = None  # None for a fork
    sock: socket.socket | None = None  # to watch.py
    started: list[psutil.Process] = field(default_factory=list)

    # --- the life of a process --------------------------------------------------------------------
    def start(
        self,
        printed: BinaryIO | int,
        at_end: ExitStack,
        command: Sequence[str] = (),
        descriptors: Sequence[int] = (),
    ) -> None:
        """Starts a fresh interpreter, which inherits `descriptors`, and ends with everything it
        started.

        `command` starts it, and must become it (exec) or end as a shell would (128 plus the
        signal).
        """
        self.printed, self.has_command = printed, bool(command)
        command = [*command, sys.executable, str(CHILD)]
        with ExitStack() as childs_ends:
            replies, outbox = reply_channel(at_end, childs_ends)
            if LINUX:
                self.sock, childs_sock = socket.socketpair()
                at_end.enter_context(self.sock)
                childs_ends.enter_context(childs_sock)
                descriptors = (*descriptors, childs_sock.fileno())
                command = [
                    sys.executable,
                    "-I",
                    "-S",
                    str(WATCH),
                    str(childs_sock.fileno()),
                    *command,
                ]
            self.process = Popen(
                command,
                stdin=PIPE,
                stdout=outbox,
                stderr=printed,
                start_new_session=POSIX,
                pass_fds=descriptors,
            )
        at_end.callback(self._end)
        self.inbox, self.mail = (
            self.process.stdin,
            Mail(replies or self.process.stdout, self.largest),
        )

    def send(self, payload: bytes, **options: Any) -> None:
        usual = {
            "path": sys.path,
            "heap": False,
            "stack": None,
            "warm": False,
            "calls": (),
            "modules": (),
        }
        usual |= {"objects": self.objects, "marks": marks.__name__}
        with suppress(OSError):  # if it has ended, that shows elsewhere
            pickle.dump((payload, usual | {"largest_result": self.largest} | options), self.inbox)
            self.inbox.flush()

    def greet(self, label: str, more: float = 0) -> None:
        """Waits until it has loaded what was sent, `more` seconds longer than usual; else
        TimeoutError or TypeError.
        """
        if not self.mail.greeting.wait(min(START_LIMIT_S + more, threading.TIMEOUT_MAX)):
            raise TimeoutError(
                f"{label}: a fresh interpreter did not start within {START_LIMIT_S + more:.0f} s"
            )
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
        with suppress(OSError):
            self.inbox.write(step + b"\n")
            self.inbox.flush()

    def alive(self) -> bool:
        if self.process is None:
            with suppress(psutil.NoSuchProcess):
                return psutil.Process(self.mail.pid).status() != psutil.STATUS_ZOMBIE
            return False
        if self.code is None and self.sock is None:
            self.code = self.process.poll()
        elif self.code is None:
            with suppress(OSError, ValueError):  # watch.py has sent nothing yet, or has ended
                self.code = int(self.sock.recv(64, socket.MSG_DONTWAIT))
        return self.code is None and self.process.poll() is None

    def wait(self, event: threading.Event, end: float) -> bool:
        """Waits for the event in short steps: what a dead process has started may hold its pipe
        open.
        """
        while (
            not event.wait(max(0, min(0.02, end - time.monotonic())))
            and time.monotonic() < end
            and self.alive()
        ):
            self.stopped = self.reason_to_stop()
            if self.stopped:
                break
        return event.is_set()

    def reason_to_stop(self) -> str | None:
        if not isinstance(self.printed, int):
            file = os.fstat(self.printed.fileno())
            # Blocks allocated past the file's end count too: fallocate(2), FALLOC_FL_KEEP_SIZE.
            if max(file.st_size, 512 * getattr(file, "st_blocks", 0)) > MOST_PRINTED:
                return "printed too much"
        return self.stop()

    def report(self, end: float) -> None:
        """Asks for the report and waits for it until `end` (time.monotonic); kills a stopped
        process.
        """
        self._note_descendants()
        if not self.stopped:
            self.allow(b"report")
            if not self.wait(self.mail.report, end) and self.alive():
                self.stopped = self.stopped or "timed out"
        if self.stopped:
            self.kill()

    def kill(self) -> None:
        """Kills the process, but not yet what it started."""
        with suppress(ProcessLookupError):
            os.kill(self.mail.pid, signal.SIGKILL)

    def leave(self) -> None:
        """Lets a process that has reported end by itself: it may have to clean up."""
        if not self.stopped:
            self.allow(b"end")
            end = time.monotonic() + GRACE_S
            while self.alive() and time.monotonic() < end:
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
            reason = shortened(str(error))
            return (
                None,
                (
                    f"the result came back, but cannot be rebuilt here ({reason}); return plain "
                    "data instead"
                ),
            )

    @property
    def ended(self) -> str:
        if self.stopped or self.mail.message:
            return self.stopped or self.mail.message["ended"]
        if self.code in (None, LOST):
            return "lost contact"
        return ended_by(128 - self.code if self.has_command and self.code > 128 else self.code)

    @property
    def error(self) -> str | None:
        if self.ended == "lost contact":
            return (
                "the process could not report: the function closed every file descriptor, or wrote "
                "to them all"
            )
        return self.mail.message.get("error")

    # --- its end ----------------------------------------------------------------------------------
    def _note_descendants(self) -> None:
        if self.sock is None and self.alive():  # else its number may be another process's by now
            with suppress(psutil.NoSuchProcess):
                self.started += psutil.Process((self.process or self.mail).pid).children(
                    recursive=True
                )

    def _end(self) -> None:
        try:
            if self.sock is None:
                self._kill()
                return
            self.process.send_signal(signal.SIGCONT)
            try:  # watch.py kills everything that is left, then ends itself
                self.sock.shutdown(socket.SHUT_WR)
                self.sock.settimeout(2 * GRACE_S)
                while self.sock.recv(64):
                    pass
            except OSError:  # watch.py was killed, or something waits for a device
                self.process.kill()
            self.process.wait()
        finally:
            self.hang_up()

    def _kill(self) -> None:
        """Kills the process and all it started, where there is no watch.py."""
        self._note_descendants()
        for each in self.started:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.kill()
        self.process.wait()
        if POSIX:
            # what outlived its parent before we looked
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        psutil.wait_procs(self.started, timeout=GRACE_S)

    def hang_up(self) -> None:
        with suppress(OSError):
            self.inbox.close()
        self.mail.join(2)
        if not self.mail.is_alive():  # else a process out of reach still holds the other end
            self.mail.stream.close()
            self.mail.replies.close()


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
        self.greeting, self.done, self.report = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self.start()

    def run(self) -> None:
        try:
            sender, control = None, []
            # waits for the next byte, and asks for its sender's process number, as seen from here
            if LINUX:
                control = self.replies.recvmsg(
                    1, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_PEEK
                )[1]
            for _, kind, data in control:
                if kind == socket.SCM_CREDENTIALS:
                    sender = CREDENTIALS.unpack(data)[0]
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


def reply_channel(at_end: ExitStack, childs_ends: ExitStack) -> tuple[socket.socket | None, int]:
    """Our end to read the child's replies from, and the child's end. A socket tells who sent:
    unix(7).
    """
    if not POSIX:
        return None, PIPE
    sock, childs_end = socket.socketpair()
    at_end.enter_context(sock)
    childs_ends.enter_context(childs_end)
    if LINUX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return sock, childs_end.fileno()


def _checked(report: Any) -> dict:
    """The fields of a report that have the right types. ValueError if it isn't a report."""
    if not isinstance(report, dict) or report.get("ended", "raised") not in ("returned", "raised"):
        raise ValueError(f"not a report: {report!r:.80}")
    fields = {name: report[name] for name, kind in REPORT.items() if type(report.get(name)) is kind}
    fields |= {name: shortened(text) for name, text in fields.items() if type(text) is str}
    counters = fields.get("counters", {})
    fields["counters"] = {
        n: c for n, c in counters.items() if type(c) in (int, float) and isfinite(c)
    }
    fields["imports"] = [name for name in fields.get("imports", ()) if type(name) is str]
    fields["marks"] = [mark for mark in fields.get("marks", ()) if _is_mark(mark)]
    fields["codes"] = [code for code in fields.get("codes", ()) if type(code) is int]
    return {"ended": "raised"} | fields


def _is_mark(mark: Any) -> bool:
    """A name, a time, and perhaps a size for each kind of memory."""
    kinds = [type(part) for part in mark] if type(mark) is tuple else []
    return kinds in ([str, float], [str, float, int, int, int]) and isfinite(mark[1])


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


def show(printed: BinaryIO) -> None:
    """Prints what the function printed; if that is long, only its beginning and its end."""
    length = printed.seek(0, os.SEEK_END)
    most = 64 * KiB
    printed.seek(0)
    text = printed.read(most).decode(errors="replace")
    if length > most:
        printed.seek(max(most, length - most))
        left_out = printed.tell() - most
        text += f"\n… {left_out:,} bytes left out …\n" * bool(left_out) + printed.read().decode(
            errors="replace"
        )
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
