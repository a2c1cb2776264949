"""One connection. The kernel copies a file to its socket: sendfile(2), by way of asyncio's loop.sendfile.

ASGI has a message for that, http.response.zerocopysend, but uvicorn doesn't know it. This subclass of its protocol
does. h11, which writes and checks the frames of HTTP, only has to hear how many bytes have gone by
(h11.Connection.send_with_data_passthrough). One thing to know: where a page isn't in the page cache, sendfile waits for
the disk, and so does everybody else whom this worker serves.

Why uvicorn with h11? benchmarks/bench_serve.py compares it with uvicorn and httptools, hypercorn and granian. Two of
them give more answers per second. But h11 limits the length of headers, is written in Python alone, and lets us get
at the socket, which granian, written in Rust, doesn't.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, BinaryIO

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
PIECE = 4 << 20  # bytes for one sendfile
PATIENCE = 10.0  # seconds until all headers of a request have come, or the next bytes
SLOWEST = 100 << 10  # bytes per second: whoever sends or reads less is cut off
LINGER = 1.0  # seconds for a refused client to read why


class Gone(Exception):
    """The client went, or was too slow."""


class Passed:
    """Bytes that h11 only counts."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


class ZeroCopyProtocol(H11Protocol):
    """uvicorn's protocol, with http.response.zerocopysend, the right status for headers too long (431), and an end to
    patience with slow clients."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.served, self.app, self.refused = self.app, self._with_zero_copy, False
        self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        self.end.cancel()
        super().connection_lost(error)

    def _wait(self) -> None:
        """For headers, or for enough of a body."""
        self.state, self.came = self.conn.their_state, 0
        self.end = self.loop.call_later(PATIENCE, self._too_slow)

    def handle_events(self) -> None:
        super().handle_events()
        enough = self.state is h11.SEND_BODY and self.came >= PATIENCE * SLOWEST
        if self.conn.their_state is not self.state or enough:
            self.end.cancel()
            self._wait()

    def _too_slow(self) -> None:
        if self.flow.read_paused:  # no, it's we who are slow
            self._wait()
        elif self.state is h11.SEND_BODY:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"less than {SLOWEST:,} bytes per second")
        elif self.state is h11.IDLE:
            self.transport.close()

    async def _with_zero_copy(self, scope: Message, receive: Callable, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] != "http.response.zerocopysend":
                try:
                    async with asyncio.timeout(PATIENCE):
                        return await send(message)
                except TimeoutError:
                    raise Gone from None
            await self._send_file(message["file"], message.get("offset", 0), message["count"])
            await send({"type": "http.response.body", "more_body": message.get("more_body", False)})

        scope.setdefault("extensions", {})["http.response.zerocopysend"] = {}
        try:
            await self.served(scope, receive, sending)
        except Gone:
            self.transport.abort()

    async def _send_file(self, file: BinaryIO, offset: int, count: int) -> None:
        self.conn.send_with_data_passthrough(h11.Data(data=Passed(count)))
        try:
            while count:
                piece = min(count, PIECE)
                async with asyncio.timeout(max(PATIENCE, piece / SLOWEST)):
                    sent = await self.loop.sendfile(self.transport, file, offset, piece, fallback=False)
                if not sent:
                    raise Gone  # the file got shorter
                offset, count = offset + sent, count - sent
        except (OSError, RuntimeError) as error:  # RuntimeError: the transport is closing; OSError: so is TimeoutError
            raise Gone from error

    def data_received(self, data: bytes) -> None:
        if not self.refused:
            self.came += len(data)
            super().data_received(data)

    def send_400_response(self, message: str) -> None:
        """h11 knows which status fits: 431 for headers too long, 501 for a coding that it doesn't know."""
        self._refuse(HTTPStatus(getattr(sys.exception(), "error_status_hint", 400)), message)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self.refused = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no answer has begun
            head = f"HTTP/1.1 {status} {status.phrase}\r\nConnection: close\r\nContent-Length: {len(message)}\r\n\r\n"
            self.transport.write((head + message).encode())
            self.transport.write_eof()
        # What is still on its way is read and dropped: closing now would reset the connection, and lose the answer.
        self.loop.call_later(LINGER, self.transport.close)
