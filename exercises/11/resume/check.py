"""11.resume: three uploads over a line that breaks, to a server that has nothing of the file, a
part or all of it; no byte comes twice.
"""

import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import SystemRandom
from secrets import token_hex
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from typing import NoReturn

from helpers.ideas.upload import checksum
from helpers.teach.judging import Attempt, NotYet, Verdict, within
from helpers.units import KiB, MiB

BUDGET, PIECE, PATIENCE = 8 * MiB, 64 * KiB, 10
RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
BROKEN = (
    "ConnectionResetError",
    "BrokenPipeError",
    "RemoteDisconnected",
    "ConnectionAbortedError",
)
GAVE_UP = (
    "the line broke in the middle of a PUT, and `resume` let the exception out. Connect again, and "
    "go on."
)
SLIPS = {
    "sent-again": (
        "you sent from byte {first:,} on, but the server had {had}. Begin each connection with a "
        "HEAD: `Upload-Offset` says where to go on, and `Upload-Complete` whether anything is "
        "missing."
    ),
    "not-asked": (
        "you went on at byte {first:,}, but the server had only {there:,} bytes. What `send` has "
        "taken may be lost when the line breaks, and a server may lose what it had. Only the "
        "server knows: ask it each time."
    ),
    "wrong-range": (
        "a PUT {said} and brought {length} bytes. In `bytes first-last/size` the last "
        "byte is included, and the size is the whole file's."
    ),
    "no-length": (
        "a PUT had no `Content-Length`. Without it http.client sends an open file in chunks, and "
        "the server can't know whether all of it has come."
    ),
    "wrong-digest": "a request didn't say the file's checksum in `Repr-Digest`.",
    "other-bytes": (
        "the `Content-Range` was right, but other bytes came. Where in the file does reading begin?"
    ),
}


# --- in the student's process ---------------------------------------------------------------------
def run(function, paths: list[Path], server: str) -> None:
    """Has the function send each file. It is stopped when the server is closed, which has seen
    enough then.
    """
    import socket
    import sys
    from http.client import HTTPConnection

    class Line(HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(10)
            try:
                self.sock.connect(server)
            except (FileNotFoundError, ConnectionRefusedError):
                sys.exit()

    def connect():
        line = Line("the-server")
        line.connect()
        return line

    try:
        for path in paths:
            function(path, connect)
    except SystemExit:
        pass


# --- outside of it --------------------------------------------------------------------------------
@dataclass
class Upload:
    """What the server has of a file: so many bytes in order. The line breaks when one of `breaks`
    has come in all; at the first break the server `loses` what it had. `told`: what the last answer
    said, until a PUT makes use of it.
    """

    path: Path
    there: int = 0
    breaks: tuple[int, ...] = ()
    loses: bool = False
    complete: bool = False
    came: int = 0
    told: int | None = None

    def __post_init__(self) -> None:
        self.size, self.digest = self.path.stat().st_size, checksum(self.path)

    def part(self, headers: Mapping[str, str]) -> int | None:
        """The last byte that a PUT brings; None if it came to know of an older state, because bytes
        of a line that the client itself had closed were still arriving. Raises NotYet if its
        headers don't fit.
        """
        said, length = (
            headers.get("Content-Range", f"bytes 0-{self.size - 1}/{self.size}"),
            headers["Content-Length"],
        )
        if length is None:
            refuse("no-length")
        first, last, size = (
            map(int, found.groups()) if (found := RANGE.fullmatch(said)) else (0, -1, -1)
        )
        if size != self.size or not first <= last < size or length != str(last + 1 - first):
            what = (
                f"said `Content-Range: {said[:60]}`"
                if "Content-Range" in headers
                else "had no `Content-Range`"
            )
            refuse("wrong-range", said=what, length=length[:20])
        told, self.told = self.told, None
        if not self.complete and first == told < self.there:
            return None
        if self.complete or first < self.there:
            refuse(
                "sent-again",
                first=first,
                had="it all" if self.complete else f"{self.there:,} bytes",
            )
        if first > self.there:
            refuse("not-asked", first=first, there=self.there)
        return last

    def take(self, body, last: int) -> bool:
        """Compares the body with the file, piece by piece, and keeps only the count. False: now the
        line breaks.
        """
        with self.path.open("rb") as file:
            file.seek(self.there)
            while self.there <= last:
                ends = (
                    last + 1 - self.there,
                    *(at - self.came for at in self.breaks if at > self.came),
                )
                piece = body.read(min(PIECE, *ends))
                if piece != file.read(len(piece)):
                    refuse("other-bytes")
                self.there, self.came = self.there + len(piece), self.came + len(piece)
                if self.came in self.breaks:
                    self.there, self.loses = (0 if self.loses else self.there), False
                if not piece or self.came in self.breaks:
                    return False
        self.complete = self.there == self.size
        return True


class Inbox(BaseHTTPRequestHandler):
    """Answers as the lesson's server does, until the first slip; then its server ends."""

    protocol_version, timeout = "HTTP/1.1", PATIENCE

    def do_HEAD(self) -> None:
        self.answered(lambda upload: 200)

    def do_PUT(self) -> None:
        def taken(upload: Upload) -> int:
            if (last := upload.part(self.headers)) is None:
                self.close_connection = True
                return 416
            if not upload.take(self.rfile, last):
                raise ConnectionAbortedError
            return 201 if upload.complete else 202

        self.answered(taken)

    def answered(self, ask) -> None:
        upload = self.server.uploads.get(self.path)
        if upload is None:
            self.close_connection = True
            return self.send_error(404)
        with self.server.lock:
            try:
                if self.headers["Repr-Digest"] != upload.digest:
                    refuse("wrong-digest")
                self.send_response(ask(upload))
            except NotYet as slip:
                self.server.slip, self.close_connection = self.server.slip or slip, True
                Thread(target=self.server.end).start()
                return self.send_error(400)
            # the parts have become the model
            upload.told = offset = 0 if upload.complete else upload.there
        for header, value in (
            ("Upload-Offset", offset),
            ("Upload-Complete", f"?{upload.complete:d}"),
            ("Content-Length", 0),
        ):
            self.send_header(header, str(value))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingMixIn, TCPServer):
    """On a socket that is a file: a sandbox has no network."""

    address_family = getattr(socket, "AF_UNIX", None)

    def __init__(self, at: str, uploads: list[Upload]):
        self.uploads, self.lock, self.slip = (
            {f"/models/{each.path.name}": each for each in uploads},
            Lock(),
            None,
        )
        super().__init__(at, Inbox)

    def end(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Says nothing: a broken line is no error here."""


@contextmanager
def serving(uploads: list[Upload]) -> Iterator[Server]:
    with (
        tempfile.TemporaryDirectory(prefix="line-") as folder,
        Server(f"{folder}/server", uploads) as server,
    ):
        thread = Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield server
        finally:
            server.end()
            thread.join()


def judge(attempt: Attempt) -> Verdict:
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("it needs Unix sockets, which Python lacks here; it runs on Linux and macOS")
    chance = SystemRandom()
    new, begun, whole = (
        attempt.random_file(f"{token_hex(4)}.bin", size) for size in (None, MiB + 1, MiB - 1)
    )
    first, second = sorted(chance.sample(range(1, MiB // 2), 2))
    uploads = [
        Upload(new, breaks=tuple(chance.sample(range(1, attempt.size), 3))),
        Upload(begun, there=chance.randrange(1, MiB // 2), breaks=(first, second), loses=True),
        Upload(whole, complete=True),
    ]
    paths, means = [each.path for each in uploads], {name: ("gave-up", GAVE_UP) for name in BROKEN}
    with serving(uploads) as server:
        at, limit = server.server_address, 4 * attempt.size + 64 * MiB
        try:
            seen = attempt.run(run, paths, at, memory_limit=limit, means=means, shared=[Path(at)])
        except NotYet as slip:
            raise server.slip or slip from None
    if server.slip:
        raise server.slip
    if missing := [each for each in uploads if not each.complete]:
        why = (
            f"`resume` returned, and the server has {missing[0].there:,} of {missing[0].size:,} "
            "bytes."
        )
        raise NotYet("not-complete", why)
    done = "Three uploads are complete, and no byte was sent that the server had"
    return within(seen, BUDGET, done, half="what you send")


def refuse(slip: str, **about: object) -> NoReturn:
    raise NotYet(slip, SLIPS[slip].format(**about))
