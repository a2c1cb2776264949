"""One connection. The kernel copies a file to its socket: sendfile(2), by way of asyncio's loop.sendfile.

ASGI has a message for that, http.response.zerocopysend, but uvicorn doesn't know it. This subclass of its protocol
does. h11, which writes and checks the frames of HTTP, only has to hear how many bytes have gone by
(h11.Connection.send_with_data_passthrough). One thing to know: where a page isn't in the page cache, sendfile waits for
the disk, and so does everybody else whom this worker serves. helpers/serving_limits.py has the limits on slow clients.

Why uvicorn with h11? benchmarks/bench_serve.py compares it with uvicorn and httptools, hypercorn and granian. Two of
them give more answers per second. But h11 limits the length of headers, is written in Python alone, and lets us get
at the socket, which granian, written in Rust, doesn't.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import h11

from ..serving_limits import SLOWEST, TIMEOUT_S, ClientGone, LimitedProtocol, Message, Send

PIECE = 4 << 20  # bytes for one sendfile


class Passed:
    """Bytes that h11 only counts."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


class ZeroCopyProtocol(LimitedProtocol):
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.application = partial(self._with_zero_copy, self.application)

    async def _with_zero_copy(self, application: Callable, scope: Message, receive: Callable, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.zerocopysend":
                await self._send_file(message["file"], message.get("offset", 0), message["count"])
                message = {"type": "http.response.body", "more_body": message.get("more_body", False)}
            await send(message)

        scope.setdefault("extensions", {})["http.response.zerocopysend"] = {}
        await application(scope, receive, sending)

    async def _send_file(self, file: BinaryIO, offset: int, count: int) -> None:
        try:
            self.conn.send_with_data_passthrough(h11.Data(data=Passed(count)))
            while count:
                piece = min(count, PIECE)
                async with asyncio.timeout(max(TIMEOUT_S, piece / SLOWEST)):
                    sent = await self.loop.sendfile(self.transport, file, offset, piece, fallback=False)
                if not sent:
                    raise ClientGone  # the file got shorter
                offset, count = offset + sent, count - sent
        except (OSError, RuntimeError, h11.LocalProtocolError) as error:  # the connection is closing; TimeoutError too
            raise ClientGone from error
