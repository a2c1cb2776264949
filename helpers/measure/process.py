"""`Process`: the caller's end of child.py's protocol. run.py, workers.py and explorer.py say what runs there."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle
import psutil

from ..units import KiB

CHILD = Path(__file__).with_name("child.py")
START_LIMIT = 60.0  # seconds for a fresh interpreter to start and load the function


class Process:
    """A fresh interpreter, or one forked from it; `stopped` is why it is not waited for any longer: "timed out"."""

    def __init__(self, name: str):
        self.name, self.stopped, self.code = name, None, None
        self.process: subprocess.Popen | None = None  # None for a fork
        self.started: list[psutil.Process] = []

    def start(
        self, printed: BinaryIO | int, at_end: ExitStack, command: Sequence[str] = (), descriptors: Sequence[int] = ()
    ) -> None:
        """A fresh interpreter, to be ended with all that it has started, whatever happens.

        It is started through `command`, which must become it (exec), and inherits `descriptors`.
        """
        self.process = subprocess.Popen(
            [*command, sys.executable, str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            start_new_session=os.name == "posix",
            pass_fds=descriptors,
        )
        at_end.callback(self._end)
        self.talk(self.process.stdin, self.process.stdout)

    def talk(self, inbox: BinaryIO, outbox: BinaryIO) -> None:
        self.inbox, self.outbox, self.mail = inbox, outbox, _Mail(outbox)

    def send(self, payload: bytes, **options: Any) -> None:
        with suppress(OSError):  # it may have ended: that shows elsewhere
            pickle.dump((payload, {"path": sys.path, "heap": False} | options), self.inbox)
            self.inbox.flush()

    def greet(self, label: str) -> None:
        """Until it has loaded what was sent. TimeoutError or TypeError if it does not."""
        if not self.mail.greeting.wait(START_LIMIT):
            raise TimeoutError(f"{label}: a fresh interpreter did not start within {START_LIMIT:.0f} s")
        if self.mail.pid is None:
            self.mail.report.wait(START_LIMIT)
            raise self.not_loaded(label)

    def not_loaded(self, label: str) -> TypeError:
        why = self.mail.message["error"] if self.mail.message else "it ended meanwhile"
        return TypeError(
            f"{label} could not be loaded in a fresh interpreter: {why}. What it imports must be "
            "importable there; what it needs of the notebook must be something that can be pickled"
        )

    def allow(self, step: bytes) -> None:
        with suppress(OSError):
            self.inbox.write(step + b"\n")
            self.inbox.flush()

    def alive(self) -> bool:
        if self.process:
            return self.process.poll() is None
        with suppress(psutil.NoSuchProcess):
            return _alive(psutil.Process(self.mail.pid))
        return False

    def wait(self, event: threading.Event, end: float) -> bool:
        """Until it has happened, but not one long wait: what a dead process has started may hold its pipe open."""
        while not event.wait(max(0, min(0.02, end - time.monotonic()))) and time.monotonic() < end and self.alive():
            pass
        return event.is_set()

    def report(self) -> None:
        """Asks for it, or ends a stopped process. From then on it may end, so who belongs to it is noted."""
        self._note()
        if self.stopped:
            with suppress(ProcessLookupError):
                os.kill(self.mail.pid, signal.SIGKILL)
        else:
            self.allow(b"report")
            self.wait(self.mail.report, time.monotonic() + START_LIMIT)

    def leave(self) -> None:
        """Lets it end by itself, if it has reported: it may have to clean up."""
        if not self.stopped and self.mail.report.is_set():
            self.allow(b"end")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        self.code = self.process.poll()  # None: it ends only because we end it

    @property
    def message(self) -> dict:
        """What it reported; {} if it did not."""
        return self.mail.message or {}

    @property
    def value(self) -> tuple[Any, str | None]:
        """What the function returned, or None and why it is not here."""
        value = self.message.get("value")
        try:
            return (pickle.loads(value) if value else None), None
        except Exception as error:
            return None, f"the result came back, but cannot be rebuilt here ({error}); return plain data instead"

    @property
    def ended(self) -> str:
        if self.stopped or self.message:
            return self.stopped or self.message["ended"]
        return "lost contact" if self.code is None else _ended_by(self.code)

    def _note(self) -> None:
        if self.alive():  # else its number may be somebody else's by now
            self.started += _descendants((self.process or self.mail).pid)

    def _end(self) -> None:
        try:
            self._note()
            _kill(self.process, self.started)
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        with suppress(OSError):
            self.inbox.close()
        self.mail.join(2)
        if not self.mail.is_alive():  # else somebody out of reach still holds the other end
            self.outbox.close()


class _Mail(threading.Thread):
    """Reads what the child sends, while the caller samples."""

    def __init__(self, stream: BinaryIO):
        super().__init__(daemon=True)
        self.stream, self.pid, self.message = stream, None, None
        self.greeting, self.done, self.report = threading.Event(), threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        try:
            word = self.stream.readline()
            self.pid = int(word.split()[1]) if word.startswith(b"ready ") else None
            self.greeting.set()
            if self.pid is not None:
                self.stream.readline()
                self.done.set()
            length = int.from_bytes(self.stream.read(8), "little")
            data = self.stream.read(length)
            if length and len(data) == length:
                self.message = pickle.loads(data)
        finally:
            for event in (self.greeting, self.done, self.report):
                event.set()


def named(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def carried(function: Callable, args: tuple, label: str, *more: Callable) -> bytes:
    """What `send` sends. TypeError if it cannot travel."""
    try:
        return cloudpickle.dumps((function, args, *more), protocol=5)
    except Exception as error:
        raise TypeError(
            f"{label} cannot be carried to a fresh interpreter: {error}. Open files, mappings and locks "
            "inside the function, and pass it paths and plain data"
        ) from error


def show(printed: BinaryIO) -> None:
    """What the function printed; of very much, the beginning and the end."""
    length, most = printed.seek(0, os.SEEK_END), 64 * KiB
    printed.seek(0)
    text = printed.read(most).decode(errors="replace")
    if length > most:
        printed.seek(max(most, length - most))
        left_out = printed.tell() - most
        text += f"\n… {left_out:,} bytes left out …\n" * bool(left_out) + printed.read().decode(errors="replace")
    sys.stdout.write(text)


def _ended_by(code: int) -> str:
    """In words, how a process ended by itself: `subprocess.Popen.returncode`, negative for a signal."""
    if code >= 0:
        return f"exited {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal between the named ones
        return f"signal {-code}"


def _descendants(pid: int) -> list[psutil.Process]:
    """What it has started, and what that has started, as far as it is still running."""
    try:
        return [process for process in psutil.Process(pid).children(recursive=True) if _alive(process)]
    except psutil.NoSuchProcess:
        return []


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kill(process: subprocess.Popen, started: list[psutil.Process]) -> None:
    """The process and all it has started, also what is started while we look: so it is stopped first."""
    if os.name == "posix" and process.poll() is None:
        process.send_signal(signal.SIGSTOP)
    killed: list[psutil.Process] = []
    while started := [one for one in started if one not in killed]:
        for one in started:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        killed += started
        started = _descendants(process.pid) if process.poll() is None else []
    process.kill()
    process.wait()
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # what outlived its parent before we looked
            os.killpg(process.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while any(map(_alive, killed)) and time.monotonic() < until:  # who takes note of its end may take longer
        time.sleep(0.005)
