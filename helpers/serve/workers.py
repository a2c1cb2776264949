"""The server's processes: one that only watches, and workers that share a port, and the model's pages.

Workers are forked once everything is imported, so one that dies is replaced within milliseconds. A worker ends when the
other end of its pipe closes: by the watcher, or by the watcher's death.
"""

import asyncio
import gc
import os
import resource
import select
import signal
import socket
import time
import traceback
from contextlib import suppress
from pathlib import Path

from uvicorn import Config, Server

from ..units import KiB
from .app import Service
from .budget import keep_no_more, keep_to, lost, one_arena, short, threads, warm
from .metrics import Board
from .parts import tidy
from .places import Place
from .ports import listeners
from .versions import Versions
from .wire import PATIENCE, ZeroCopyProtocol

LONGEST_HEADERS = 32 * KiB
THREADS = 8  # for what waits for the disk
SWEEP = 0.25  # seconds between looks at what a worker keeps
GRACE = 2.0  # seconds for requests to end when the server does
ENDING = (signal.SIGTERM, signal.SIGINT)


def watch(folder: Path, workers: int, port: int, until: int | None, budget: int | None) -> None:
    """Keeps that many workers alive, until a signal comes or the descriptor `until` reads as ended. Prints the port."""
    tidy(folder)
    one_arena()
    if budget is not None:
        warm()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # no file for a crash
    gc.freeze()  # what is there already stays shared with the workers, and collecting takes them a millisecond
    board, sockets, alive = Board(workers), listeners(workers, port), os.pipe()
    for sign in ENDING:
        signal.signal(sign, _end)
    places = [Place() for _ in range(workers)]
    said = 0
    try:
        while True:
            for worker, place in enumerate(places):
                if not place.pid and time.monotonic() >= place.due:
                    place.taken(start(Service(folder, board, worker, budget), sockets[worker], alive))
                    board.started(worker, place.pid)
            if not said:
                print(said := sockets[0].getsockname()[1], flush=True)
            if until is not None and select.select([until], [], [], 0.02)[0] and not os.read(until, 1):
                return
            if until is None:
                time.sleep(0.02)
            for worker, place in enumerate(places):
                if (code := place.ended()) is not None:
                    board.ended(worker, code)
    finally:
        stop([place for place in places if place.pid])


def start(service: Service, listening: socket.socket, alive: tuple[int, int]) -> int:
    """Forks a worker, and returns its process's number. A signal to end waits until the worker has its own handlers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if not pid:
        for sign in ENDING:
            signal.signal(sign, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    if pid:
        return pid
    code = 1
    try:
        os.close(alive[1])
        asyncio.run(work(service, listening, alive[0]))
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)  # what the watcher opened is the watcher's to close


async def work(service: Service, listening: socket.socket, alive: int) -> None:
    """Serves until it's told to end."""
    loop = asyncio.get_running_loop()
    loop.add_reader(alive, os._exit, 1)
    loop.set_default_executor(threads(THREADS))
    service.reading = threads(1)
    if service.budget is not None:
        keep_to(service.budget)
    config = Config(
        service.app,
        http=ZeroCopyProtocol,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        timeout_keep_alive=int(PATIENCE),
        timeout_graceful_shutdown=int(GRACE),
    )
    server = Server(config)
    looking = asyncio.create_task(look_after(server, service.versions, service.budget or 0))
    await server.serve(sockets=[listening])
    looking.cancel()
    keep_no_more()


async def look_after(server: Server, versions: Versions, budget: int) -> None:
    """Lets go of old versions in a worker that no request wakes. If memory is short, also of copies, and of what broken
    connections have left. A worker that has lost much of its budget ends, so that a new one takes its place."""
    while not server.should_exit:
        await asyncio.sleep(SWEEP)
        with suppress(MemoryError):  # until the next look
            await asyncio.to_thread(versions.drop_outdated)
            if short():
                await asyncio.to_thread(versions.let_go)
                gc.collect()
            if not server.server_state.tasks and not versions.copies and lost(budget):
                gc.collect()
                server.should_exit = lost(budget)


def stop(places: list[Place]) -> None:
    """Lets the workers finish what they answer; then kills them."""
    end = time.monotonic() + GRACE + 0.5
    for place in places:
        os.kill(place.pid, signal.SIGTERM)
    while places := [place for place in places if place.ended() is None]:
        if time.monotonic() > end:
            for place in places:
                os.kill(place.pid, signal.SIGKILL)
        time.sleep(0.01)


def _end(number: int, frame: object) -> None:
    for sign in ENDING:
        signal.signal(sign, signal.SIG_IGN)
    raise SystemExit(0)
