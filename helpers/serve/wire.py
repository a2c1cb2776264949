"""One connection, on which a file goes out (GET).

The kernel copies the file to the socket: sendfile(2), by way of asyncio's loop.sendfile. ASGI has a
message for that, http.response.zerocopysend, but uvicorn doesn't know it. This subclass of its
protocol does. h11, which writes and checks the frames of HTTP, only has to hear how many bytes have
gone by (h11.Connection.send_with_data_passthrough). One thing to know: where a page isn't in the
page cache, sendfile waits for the disk, and so does everybody else whom this worker serves.

The limits on slow clients are in helpers/serving_limits.py. Why uvicorn with h11?
benchmarks/README.md compares it with others, some of which are faster.
"""

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

import h11
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ..safe_files import regular_file
from ..serving_limits import SLOWEST, TIMEOUT_S, ClientGone, LimitedProtocol
from ..units import KiB, MiB
from .versions import version_of

PIECE = 4 * MiB  # for one sendfile
CHUNK = 256 * KiB  # through user space


class FileAnswer(Response):
    """A download ends on the version it began on: the file stays open. ETag names the version."""

    def __init__(self, path: Path, request: Request) -> None:
        super().__init__()
        self.path, self.request = path, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with regular_file(self.path) as file:
            status = os.fstat(file.fileno())
            length = (b"content-length", b"%d" % status.st_size)
            kind = (b"content-type", b"application/octet-stream")
            raw = [(b"etag", f'"{version_of(status)}"'.encode()), length, kind]
            count = 0 if self.request.method == "HEAD" else status.st_size
            try:
                await send({"type": "http.response.start", "status": 200, "headers": raw})
                if count and self.request.query_params.get("through") != "user":
                    return await send(
                        {"type": "http.response.zerocopysend", "file": file, "count": count}
                    )
                while count and (data := await asyncio.to_thread(file.read, min(count, CHUNK))):
                    count -= len(data)
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                await send({"type": "http.response.body"})
            finally:
                # if it's deleted, the last one to close it frees its pages
                await asyncio.to_thread(file.close)


class Protocol(LimitedProtocol):
    """uvicorn's protocol with limits, and with sendfile."""

    async def prepared(self, message: Message) -> Message:
        if message["type"] != "http.response.zerocopysend":
            return message
        await self._send_file(message["file"], message["count"])
        return {"type": "http.response.body"}

    async def _send_file(self, file: BinaryIO, count: int) -> None:
        offset = 0
        try:
            # h11 only asks for its len()
            self.conn.send_with_data_passthrough(h11.Data(data=range(count)))
            while offset < count:
                piece = min(count - offset, PIECE)
                async with asyncio.timeout(max(TIMEOUT_S, piece / SLOWEST)):
                    sent = await self.loop.sendfile(
                        self.transport, file, offset, piece, fallback=False
                    )
                if not sent:
                    raise ClientGone  # the file got shorter
                offset += sent
        # the connection is closing; TimeoutError too
        except (OSError, RuntimeError, h11.LocalProtocolError) as error:
            raise ClientGone from error
