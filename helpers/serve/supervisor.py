"""The process that watches the workers: it forks them, and replaces one that dies. And what a
worker does.

All workers share a port, and the model's pages. They are forked once all is imported, so one that
dies is replaced at once, unless it had only just begun. A worker ends when the watcher closes the
other end of its pipe, or dies.

A worker can have a budget: how much memory of its own it may take. The kernel refuses more
(RLIMIT_DATA, setrlimit(2)). The limit counts what could be written to and isn't shared, whether it
has been touched or not: the heap, copies, the stacks of threads. A mapped file costs nothing. A
refused allocation is a MemoryError, and the request's answer is 503. An allocation that fails
half-way can leak memory, in CPython or in a C library. Kill a worker that answers nothing but 503,
and a new one takes its place.

Two things must be there before the limit is set, because a failure later would do harm: threads,
and the buffers that OpenBLAS multiplies in. For each thread that multiplies at the same time
OpenBLAS takes 32 MiB, keeps them, and ends the process if it can't get them
(github.com/OpenMathLib/OpenBLAS/pull/5303).
"""

import asyncio
import gc
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
from uvicorn import Server

from ..libc import libc
from ..measure.jsonable import fields
from ..serving_limits import limited
from ..units import KiB, MiB
from .app import Scoreboard, Service
from .wire import Protocol

RESTART_PAUSE_S = (
    0.1  # after its start; or workers that can't live would take all the processor's time
)
FORK_PAUSE_S = 1.0
POLL_S = 0.02
SMALLEST_BUDGET = 8 * MiB  # for an upload, and for the little things of every request
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # malloc.h
LONGEST_HEADERS = 32 * KiB
THREADS = 8  # for what waits for the disk
SWEEP_S = 0.25  # between looks at what a worker keeps
GRACE_S = 2.0  # for requests to end when the server does
ENDING = (signal.SIGTERM, signal.SIGINT)


@dataclass
class Place:
    """A worker's place: who is in it (0: nobody), and when it may be filled."""

    pid: int = 0
    due: float = 0.0

    def ended(self) -> int | None:
        """How the worker ended, if it did since the last call: its exit code, or minus the number
        of a signal.
        """
        pid, status = os.waitpid(self.pid, os.WNOHANG) if self.pid else (0, 0)
        if not pid:
            return None
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


def watch(folder: Path, workers: int, port: int, until: int | None, budget: int | None) -> None:
    """Keeps that many workers alive, until a signal comes or the descriptor `until` reads as ended.
    Prints the port.
    """
    # where there's a mallopt(3), all threads share what they free
    with suppress(AttributeError, TypeError):
        libc().mallopt(M_ARENA_MAX, 1)
    if budget is not None:
        warm()
    # no file for a crash
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # what is there already stays shared with the workers, and collecting takes them a millisecond
    gc.freeze()
    scoreboard = Scoreboard(workers)
    sockets = listeners(workers, port)
    alive = os.pipe()
    for sign in ENDING:
        signal.signal(sign, _end)
    places = [Place() for _ in range(workers)]
    port_printed = False
    try:
        while True:
            for worker, place in enumerate(places):
                if not place.pid and time.monotonic() >= place.due:
                    try:
                        place.pid = fork(
                            Service(folder, scoreboard, worker), sockets[worker], alive, budget
                        )
                        place.due = time.monotonic() + RESTART_PAUSE_S
                        scoreboard.started(worker, place.pid)
                    # too many processes, or no memory: the other workers go on
                    except OSError as error:
                        print(f"no new worker, until a later try: {error}", file=sys.stderr)
                        place.due = time.monotonic() + FORK_PAUSE_S
            if not port_printed:
                print(sockets[0].getsockname()[1], flush=True)
                port_printed = True
            if until is None:
                time.sleep(POLL_S)
            elif select.select([until], [], [], POLL_S)[0] and not os.read(until, 1):
                return
            for worker, place in enumerate(places):
                if (code := place.ended()) is not None:
                    scoreboard.ended(worker, code)
    finally:
        stop([place for place in places if place.pid])


def listeners(count: int, port: int) -> list[socket.socket]:
    """A socket for each worker, all at one port: the kernel deals out the connections
    (SO_REUSEPORT, socket(7)). From one shared socket, the first worker to wake would take all that
    wait. The watcher keeps them: what waits for a worker that is killed waits for its successor.
    They name their protocol, because asyncio sets TCP_NODELAY only where it sees TCP; without that,
    an answer's body waits 40 ms for the client to acknowledge its head (Nagle's algorithm).
    """
    # or another server of ours could share the port
    with socket.create_server(("127.0.0.1", port)) as free:
        port = free.getsockname()[1]
    sockets = [
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) for _ in range(count)
    ]
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        each.bind(("127.0.0.1", port))
        each.listen(1024)
    return sockets


def fork(
    service: Service, listening: socket.socket, alive: tuple[int, int], budget: int | None
) -> int:
    """Forks a worker, and returns its process's number. A signal to end waits until the worker has
    its own handlers.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        pid = os.fork()
        if not pid:
            for sign in ENDING:
                signal.signal(sign, signal.SIG_DFL)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    if not pid:
        os.close(alive[1])
        code = 1
        try:
            asyncio.run(work(service, listening, alive[0], budget))
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)  # what the watcher opened is the watcher's to close
    return pid


async def work(service: Service, listening: socket.socket, alive: int, budget: int | None) -> None:
    loop = asyncio.get_running_loop()
    loop.add_reader(alive, os._exit, 1)
    loop.set_default_executor(threads(THREADS))
    service.reading = threads(1)
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    if budget is not None:
        # From this size on, what is freed goes back to the kernel at once. By default, malloc(3)
        # learns to keep it.
        libc().mallopt(M_MMAP_THRESHOLD, 64 * KiB)
        taken = fields(Path("/proc/self/status").read_text())["VmData"]
        resource.setrlimit(resource.RLIMIT_DATA, (taken + budget, highest))
    config = limited(service.app, GRACE_S, Protocol, h11_max_incomplete_event_size=LONGEST_HEADERS)

    async def sweep() -> None:  # lets go of old versions in a worker that no request wakes
        while True:
            await asyncio.sleep(SWEEP_S)
            with suppress(MemoryError):  # until the next look
                await asyncio.to_thread(service.versions.drop_outdated)

    looking = asyncio.create_task(sweep())
    await Server(config).serve(sockets=[listening])
    looking.cancel()
    # shutting down takes a thread, with its stack
    resource.setrlimit(resource.RLIMIT_DATA, (highest, highest))


def stop(places: list[Place]) -> None:
    """Lets the workers finish what they answer; then kills them."""
    deadline = time.monotonic() + GRACE_S + 0.5
    for place in places:
        os.kill(place.pid, signal.SIGTERM)
    while places := [place for place in places if place.ended() is None]:
        if time.monotonic() > deadline:
            for place in places:
                os.kill(place.pid, signal.SIGKILL)
        time.sleep(0.01)


def _end(number: int, frame: object) -> None:
    for sign in ENDING:
        signal.signal(sign, signal.SIG_IGN)
    raise SystemExit(0)


def threads(count: int) -> ThreadPoolExecutor:
    """A pool whose threads are all there already."""
    pool = ThreadPoolExecutor(count)
    all_there = Barrier(count)
    list(pool.map(lambda _: all_there.wait(), range(count)))
    return pool


def warm() -> None:
    """Makes OpenBLAS take two buffers, for two threads that multiply. A forked process has them
    too.
    """
    square = np.ones((1000, 1000), np.float32)
    other = Thread(target=np.matmul, args=(square, square))
    other.start()
    while other.is_alive():
        square[:20] @ square
    other.join()
