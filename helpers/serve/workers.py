"""A worker: a process that answers. All of them share a port, and the model's pages.

A worker ends when the other end of its pipe closes: by the watcher (supervisor.py), or by the watcher's death.
"""

import asyncio
import os
import socket
import traceback
from contextlib import suppress
from typing import NoReturn

from uvicorn import Config, Server

from ..serving_limits import TIMEOUT_S
from ..units import KiB
from .app import Service
from .budget import lift, limit, threads
from .versions import Versions
from .wire import ZeroCopyProtocol

LONGEST_HEADERS = 32 * KiB
THREADS = 8  # for what waits for the disk
SWEEP_S = 0.25  # between looks at what a worker keeps
GRACE_S = 2.0  # for requests to end when the server does


def run(service: Service, listening: socket.socket, alive: int, budget: int | None) -> NoReturn:
    """All that a forked process does: what the watcher opened is the watcher's to close."""
    code = 1
    try:
        asyncio.run(work(service, listening, alive, budget))
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


async def work(service: Service, listening: socket.socket, alive: int, budget: int | None) -> None:
    """Serves until it's told to end."""
    loop = asyncio.get_running_loop()
    loop.add_reader(alive, os._exit, 1)
    loop.set_default_executor(threads(THREADS))
    service.reading = threads(1)
    if budget is not None:
        limit(budget)
    config = Config(
        service.app,
        http=ZeroCopyProtocol,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        timeout_keep_alive=int(TIMEOUT_S),
        timeout_graceful_shutdown=int(GRACE_S),
    )
    server = Server(config)
    looking = asyncio.create_task(look_after(server, service.versions))
    await server.serve(sockets=[listening])
    looking.cancel()
    lift()


async def look_after(server: Server, versions: Versions) -> None:
    """Lets go of old versions in a worker that no request wakes."""
    while not server.should_exit:
        await asyncio.sleep(SWEEP_S)
        with suppress(MemoryError):  # until the next look
            await asyncio.to_thread(versions.drop_outdated)
