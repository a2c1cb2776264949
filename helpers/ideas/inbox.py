"""The end where files arrive, over HTTP and in parts: whole, or not at all. upload.py is the other
end.

    receive("inbox", 8000)  # serves until a file has arrived

HEAD asks how much of a file is there; Upload-Offset answers. PUT brings the part that begins at
that byte, and its Content-Range says which part it is. Every request has the checksum of the whole
file, Repr-Digest. Parts are collected beside the file's place, and renamed to it when the last one
is there and the checksum is right.

Content-Range of a PUT: RFC 9110, section 14.5. Repr-Digest: RFC 9530. Upload-Offset and
Upload-Complete, and 409 for a part that begins too late: an IETF draft, "Resumable Uploads for
HTTP".
"""

import os
import re
import sys
from base64 import b64decode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer

from ..units import GiB
from .upload import TIMEOUT_S, checksum

NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)  # no folder, no hidden file
DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
# "bytes 4194304-8388607/67108864"
CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)

# status, how many bytes have arrived, and whether they are the whole file, checked
Answer = tuple[int, int, bool]


class Refused(Exception):
    """A status of 400 or more, and the reason."""


class Server(TCPServer):
    """Keeps files in `folder`, one connection at a time. `received` counts the bytes of all parts,
    broken ones too, except for a part whose connection was reset.
    """

    allow_reuse_address = True

    def __init__(self, folder: str | os.PathLike, port: int = 0, largest_part: int = GiB):
        super().__init__(("127.0.0.1", port), Inbox)
        self.folder = Path(folder)
        self.largest_part = largest_part
        self.received = 0
        self.arrived = False

    def handle_error(self, *about: object) -> None:
        # a client that hangs up is no error here
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*about)


class Inbox(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # many requests over one connection
    timeout = TIMEOUT_S

    def do_HEAD(self) -> None:
        self.answer(self.head)

    def do_PUT(self) -> None:
        self.answer(self.put)

    def head(self) -> Answer:
        path, parts, digest = self.places()
        complete = path.exists() and checksum(path) == digest
        return 200, collected(path if complete else parts), complete

    def put(self) -> Answer:
        path, parts, digest = self.places()
        first, last, size = self.part()
        data = self.rfile.read(last + 1 - first)
        self.server.received += len(data)
        if len(data) < last + 1 - first:
            raise ConnectionResetError("the client is gone, and this part is lost")
        if first > collected(parts):
            raise Refused(409, f"byte {collected(parts)} comes next, not {first}")
        write(data, parts, first)
        if last + 1 < size:
            return 202, last + 1, False
        if checksum(parts) != digest:
            parts.unlink()
            raise Refused(422, "the checksum is wrong; begin again")
        os.replace(parts, path)
        self.server.arrived = True
        return 201, size, True

    def places(self) -> tuple[Path, Path, str]:
        """Where the file goes, where its parts are collected, and its checksum."""
        path = self.server.folder / self.path[1:]
        if not NAME.fullmatch(self.path[1:]) or path.is_dir():
            raise Refused(
                404, "the path must be a file's name: up to 100 letters, digits, '.', '_' and '-'"
            )
        if not (digest := DIGEST.fullmatch(self.headers.get("Repr-Digest", ""))):
            raise Refused(400, "Repr-Digest must be the SHA-256 of the whole file")
        return (
            path,
            path.with_name(f".{path.name}.{b64decode(digest[1]).hex()[:16]}.part"),
            digest[0],
        )

    def part(self) -> tuple[int, int, int]:
        """The part's first and last byte, and the size of the file."""
        header = CONTENT_RANGE.fullmatch(self.headers.get("Content-Range", ""))
        first, last, size = map(int, header.groups()) if header else (0, -1, -1)
        length = last + 1 - first
        if not first <= last < size or self.headers.get("Content-Length") != str(length):
            raise Refused(400, "Content-Range and Content-Length must name the same part")
        if length > self.server.largest_part:
            raise Refused(413, f"a part has at most {self.server.largest_part} bytes")
        return first, last, size

    def answer(self, ask: Callable[[], Answer]) -> None:
        try:
            status, offset, complete = ask()
        except Refused as refusal:
            return self.send_error(*refusal.args)
        self.send_response(status)
        for header, value in (
            ("Upload-Offset", offset),
            ("Upload-Complete", f"?{complete:d}"),
            ("Content-Length", 0),
        ):
            self.send_header(header, str(value))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing: the client is told what was wrong."""


def collected(parts: Path) -> int:
    return parts.stat().st_size if parts.exists() else 0


def write(data: bytes, parts: Path, first: int) -> None:
    """At its place. If the disk takes less, what it took is the beginning of the part, and so in
    order.
    """
    try:
        with parts.open("ab") as file:
            file.truncate(first)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Refused(507, error.strerror) from error


def receive(folder: str | os.PathLike, port: int) -> int:
    """Serves until a file has arrived in `folder`; returns the bytes received. OSError if the port
    is taken.
    """
    with Server(folder, port) as server:
        while not server.arrived:
            server.handle_request()
        return server.received
