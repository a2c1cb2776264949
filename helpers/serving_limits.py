"""Limits on slow and silent clients, for a server on uvicorn: `Server(limited(app, grace_s=2))`.

A client has TIMEOUT_S seconds for all headers of a request, or to begin the next. They have at most
LONGEST_HEAD bytes in MOST_HEADERS lines. After that it must send at least SLOWEST bytes per second
of a body, and may not stop reading the answer for TIMEOUT_S. A client that is too slow gets 408 if
no answer has begun, and is cut off. A body must have a Content-Length: h11 makes an event of every
chunk, and nobody else is served meanwhile. Not limited: how many clients there are, unless
`CrowdedProtocol` serves them, or how much of a body is sent in all, unless `body_of` reads it.
"""

import asyncio
import logging
import os
import re
import select
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import h11
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from .units import KiB

TIMEOUT_S = 10.0
SLOWEST = 100 * KiB  # per second
LINGER_S = 1.0  # for a refused client to read the answer
SPARED_S = 5.0
LONGEST_HEAD = 16 * KiB
MOST_HEADERS = 100  # of a request
BLANK = re.compile(rb"\n\r?\n")


class ClientGone(Exception):
    """The client has gone, or was too slow: nobody reads the answer. uvicorn lets an application
    send to a client that has gone, to the end and without an error. Here `send` raises.
    """


class WithLengths(h11.Connection):
    """Refuses Transfer-Encoding, and a head that takes long to read: h11 reads a whole one at once,
    before anybody knows whose turn it is.
    """

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            head = BLANK.split(self.trailing_data[0][: LONGEST_HEAD + 1], 1)[0]
            if len(head) > LONGEST_HEAD or head.count(b"\n") > MOST_HEADERS:
                raise h11.RemoteProtocolError("too many headers", HTTPStatus(431))
        event = super().next_event()
        if isinstance(event, h11.Request) and b"transfer-encoding" in dict(event.headers):
            raise h11.RemoteProtocolError("no Content-Length", HTTPStatus.LENGTH_REQUIRED)
        return event


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol with these limits, and the right status for headers that are too long
    (431).
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.conn = WithLengths(h11.SERVER)
        self.refused = False
        self.application = self.app
        self.app = self._limited
        self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        self.timer.cancel()
        super().connection_lost(error)

    def _wait(self) -> None:
        """For headers, or for enough of a body."""
        self.state = self.conn.their_state
        self.received = 0
        self.timer = self.loop.call_later(TIMEOUT_S, self._too_slow)

    def handle_events(self) -> None:
        super().handle_events()
        enough = self.state is h11.SEND_BODY and self.received >= TIMEOUT_S * SLOWEST
        if self.conn.their_state is not self.state or enough:
            self.timer.cancel()
            self._wait()

    def _too_slow(self) -> None:
        if self.flow.read_paused:  # the application is slow, not the client
            self._wait()
        elif self.state is h11.SEND_BODY:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"less than {SLOWEST:,} bytes per second")
        elif self.state is h11.IDLE:
            self.transport.close()

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        cycle = self.cycle

        async def sending(message: Message) -> None:
            message = await self.prepared(message)
            if cycle.disconnected:
                raise ClientGone
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    await send(message)
            except TimeoutError:
                raise ClientGone from None

        try:
            await self.application(scope, receive, sending)
        except ClientGone:
            cycle.disconnected = True
            if not self.refused:
                self.transport.abort()

    async def prepared(self, message: Message) -> Message:
        """What uvicorn gets to send. A subclass may send some messages itself."""
        return message

    def data_received(self, data: bytes) -> None:
        if not self.refused:
            self.received += len(data)
            super().data_received(data)

    def send_400_response(self, message: str) -> None:
        """h11 knows which status fits: 431 for headers too long, 501 for a coding that it doesn't
        know.
        """
        self._refuse(HTTPStatus(getattr(sys.exception(), "error_status_hint", 400)), message)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self.refused = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no answer has begun
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\nConnection: close\r\nContent-Length: "
                f"{len(message)}\r\n\r\n"
            )
            self.transport.write((head + message).encode())
        # what the application still sends goes nowhere, and what it waits for doesn't come
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        # What is still on its way is read and dropped: closing now would reset the connection, and
        # lose the answer.
        self.flow.resume_reading()
        self.loop.call_later(LINGER_S, self.transport.close)


class CrowdedProtocol(LimitedProtocol):
    """Keeps at most `most` connections. For one more, it cuts off a sixteenth of the address that
    has most: those that it has waited for longest. Those that wait for an answer count as SPARED_S
    younger.
    """

    most = 256

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most:
            by_address = defaultdict(list)
            for one in self.connections - {self}:
                by_address[one.client and one.client[0]].append(one)
            theirs = max(by_address.values(), key=len)
            theirs.sort(key=lambda one: one.timer.when() + SPARED_S * (one.state is h11.DONE))
            for one in theirs[: len(theirs) // 16 + 1]:
                self.connections.remove(one)
                one.transport.abort()


class Terminal(logging.Handler):
    """Says what goes wrong in a line, at most one a minute, and nothing while nobody reads the
    terminal.
    """

    silent_until = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            if time.monotonic() > self.silent_until and select.select([], [2], [], 0)[1]:
                self.silent_until = time.monotonic() + 60
                what = record.getMessage().splitlines()[0]
                error = (record.exc_info or (None, ""))[1]
                os.write(2, f"{what} {error!r}"[:400].encode() + b"\n")


def limited(
    app: ASGIApp, grace_s: float, http: type[LimitedProtocol] = LimitedProtocol, **more: Any
) -> Config:
    """A configuration with these limits. When the server ends, requests have `grace_s` seconds to
    be answered.
    """
    return Config(
        app,
        interface="asgi3",
        http=http,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(TIMEOUT_S),
        timeout_graceful_shutdown=int(grace_s),
        **more,
    )


async def body_of(
    request: Request, largest: int, refused: Callable[[int, str], Exception]
) -> bytes:
    """All of the body. As soon as it's longer than `largest` bytes, raises `refused(413, why)`."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > largest:
            raise refused(413, f"a body has at most {largest:,} bytes")
    return bytes(body)
