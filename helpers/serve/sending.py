"""GET: a file. The kernel copies it to the socket, or, to compare, this process does."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..units import KiB
from ..whole import regular_file
from .model_store import version_of

CHUNK = 256 * KiB  # through user space


class FileAnswer(Response):
    """A download ends on the version it began on: the file stays open. ETag names the version."""

    def __init__(self, path: Path, request: Request) -> None:
        super().__init__()
        self.path, self.request = path, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with regular_file(self.path) as file:
            try:
                await self._send(file, send)
            finally:
                await asyncio.to_thread(file.close)  # if it's deleted, the last one to close it frees its pages

    async def _send(self, file: BinaryIO, send: Send) -> None:
        status = os.fstat(file.fileno())
        headers = {"ETag": f'"{version_of(status)}"', "Content-Length": str(status.st_size),
                   "Content-Type": "application/octet-stream"}  # fmt: skip
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        if self.request.method == "HEAD":
            await send({"type": "http.response.body"})
        elif self.request.query_params.get("through") == "user":
            async for data in pieces(file, status.st_size):
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body"})
        else:
            await send({"type": "http.response.zerocopysend", "file": file, "count": status.st_size})


async def pieces(file: BinaryIO, count: int) -> AsyncIterator[bytes]:
    while count and (data := await asyncio.to_thread(file.read, min(count, CHUNK))):
        count -= len(data)
        yield data
