"""Upload a file over HTTP in parts: a lost connection costs one part. inbox.py is the other end.

upload("weights.bin", "127.0.0.1:8000")
"""

import hashlib
import os
import socket
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from http.client import BadStatusLine, HTTPConnection, IncompleteRead
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from ..units import MiB

TIMEOUT_S = 10  # without a byte: then the connection counts as lost
WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # seconds before each new try
# the last two: it broke within an answer
LOST = (ConnectionError, TimeoutError, BadStatusLine, IncompleteRead)

# sends `count` bytes of the file, from byte `at` on
Send = Callable[[socket.socket, BinaryIO, int, int], None]


def read_and_send(line: socket.socket, file: BinaryIO, at: int, count: int) -> None:
    file.seek(at)
    data = file.read(count)
    if len(data) < count:
        raise ValueError(f"the file got shorter meanwhile: byte {at + len(data)} is gone")
    line.sendall(data)


def upload(
    path: str | os.PathLike,
    address: str,
    part: int = 4 * MiB,
    send: Send = read_and_send,
    to: str = "",
) -> None:
    """Sends the file in parts of `part` bytes to the path `to` of the server, which is /NAME of the
    file if not given.

    After a lost connection it asks where to go on. ConnectionError, with the last cause, if the
    connection can't be made, or is lost, more than len(WAITS) times. ValueError for an empty file,
    a part of less than a byte, and if the server refuses this file, doesn't say how much has
    arrived, or keeps nothing of a part. OSError if the file can't be read, http.client.InvalidURL
    if `address` or `to` can't be part of a request.
    """
    if part < 1:
        raise ValueError(f"a part has at least one byte, not {part}")
    path, digest = Path(path), checksum(path)
    if not path.stat().st_size:
        raise ValueError(f"{path.name} is empty; a part has at least one byte")
    for wait in (0, *WAITS):
        time.sleep(wait)
        with closing(HTTPConnection(address, timeout=TIMEOUT_S)) as line:
            try:
                line.connect()
            except OSError as error:  # refused, or no such host, or no way there
                lost = error
                continue
            try:
                return send_parts(
                    line, path, to or f"/{quote(os.fsencode(path.name))}", digest, part, send
                )
            except LOST as error:
                lost = error
    raise ConnectionError(f"{path.name}: no connection to {address} that lasts: {lost!r}") from lost


def send_parts(
    line: HTTPConnection, path: Path, to: str, digest: str, part: int, send: Send
) -> None:
    """Asks how much has arrived, and sends the rest. Errors as in `upload`."""
    name = path.name
    size = path.stat().st_size
    line.request("HEAD", to, headers={"Repr-Digest": digest, "Upload-Length": str(size)})
    offset, complete = answered(line, name, size)
    with path.open("rb") as file:
        while not complete:
            at = min(offset, size - 1)  # all there, but unchecked: the last byte again
            count = min(part, size - at)
            line.putrequest("PUT", to)
            line.putheader("Repr-Digest", digest)
            line.putheader("Content-Range", f"bytes {at}-{at + count - 1}/{size}")
            line.putheader("Content-Length", str(count))
            line.endheaders()
            with suppress(ConnectionError):  # a server that refuses may hang up
                send(line.sock, file, at, count)
            before, (offset, complete) = offset, answered(line, name, size)
            if offset <= before and not complete:
                raise ValueError(
                    f"{line.host}:{line.port} had {before} bytes of {name}, and now has {offset}"
                )


def answered(line: HTTPConnection, name: str, size: int) -> tuple[int, bool]:
    """How many bytes of `size` the server has in order, and whether it has checked and published
    the file.
    """
    answer = line.getresponse()
    answer.read()
    if answer.status >= 400:
        raise ValueError(f"{line.host}:{line.port} refuses {name}: {answer.status} {answer.reason}")
    offset = answer.headers.get("Upload-Offset", "")
    if not (offset.isdecimal() and int(offset) <= size):
        reason = f"its Upload-Offset is {offset!r}, not 0 to {size}"
        raise ValueError(
            f"{line.host}:{line.port} doesn't say how much of {name} has arrived: {reason}"
        )
    return int(offset), answer.headers["Upload-Complete"] == "?1"


def checksum(path: str | os.PathLike) -> str:
    """The value of Repr-Digest for this file: its SHA-256, read in small pieces."""
    with open(path, "rb") as file:
        return f"sha-256=:{b64encode(hashlib.file_digest(file, 'sha256').digest()).decode()}:"
