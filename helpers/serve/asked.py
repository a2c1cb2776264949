"""What a request may say. Anything else is refused: `Refused` says with which status, and why.

The headers and statuses of an upload are those of lesson 02 (ideas/inbox.py). What has come of a broken part is dropped
there, and kept here.
"""

import errno
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..ideas.inbox import CONTENT_RANGE, DIGEST, NAME
from ..ideas.safetensors import SafetensorsError

RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)  # "bytes=100-199", "bytes=100-", "bytes=-100"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room on the disk, or no inode; the user's quota; the file's limit
LENGTH = re.compile(r"\d{1,18}", re.ASCII)


class Refused(Exception):
    """The answer to a request that can't be met: a status, why, the rule it broke if there is one, more headers."""

    def __init__(self, status: int, why: str, rule: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.rule, self.headers = status, why, rule, headers or {}


@contextmanager
def room_on_disk() -> Iterator[None]:
    """Refused, if there was too little."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise Refused(507, "the disk is full") from None


@dataclass(frozen=True)
class Part:
    """A part of an upload: bytes `first` to `last` of `size`, of a file with this SHA-256 (32 bytes)."""

    first: int
    last: int
    size: int
    digest: bytes


def name_of(name: str) -> str:
    """The name, if it can be a model's or a tenant's."""
    if not NAME.fullmatch(name):
        raise Refused(404, f"{name[:100]!r} can't be a name: up to 100 letters, digits, '.', '_' and '-'")
    return name


def digest_in(request: Request) -> bytes:
    if not (found := DIGEST.fullmatch(request.headers.get("Repr-Digest", ""))):
        raise Refused(400, "Repr-Digest must be the SHA-256 of the whole file: sha-256=:<base64>:")
    return b64decode(found[1])


def part_in(request: Request, largest: int) -> Part:
    """Which part a PUT brings. Without Content-Range it's the whole file."""
    if not LENGTH.fullmatch(said := request.headers.get("Content-Length", "")):
        raise Refused(411, "a part says its length: Content-Length")
    length, ranged = int(said), request.headers.get("Content-Range")
    if ranged is None:
        first, last, size = 0, length - 1, length
    elif told := CONTENT_RANGE.fullmatch(ranged):
        first, last, size = map(int, told.groups())
    else:
        raise Refused(400, f"Content-Range is {ranged[:100]!r}; it would be 'bytes 0-99/200'")
    if not first <= last < size or length != last + 1 - first:
        raise Refused(400, f"bytes {first} to {last} of {size} are not the {length} bytes of this part")
    if size > largest:
        raise Refused(413, f"{size:,} bytes are too many; {largest:,} is the limit")
    return Part(first, last, size, digest_in(request))


def range_in(request: Request, size: int, version: str) -> tuple[int, int] | None:
    """The one range of a GET, as first byte and count. None: the whole file, also if the client has another version."""
    said = request.headers.get("Range") if request.method == "GET" else None  # RFC 9110, section 14.2
    if said is None or request.headers.get("If-Range", version) != version or "," in said:
        return None
    if not (told := RANGE.fullmatch(said)) or said == "bytes=-":
        return None  # the same section: a range that can't be read is ignored
    begin, end = told.groups()
    first = int(begin) if begin else max(0, size - int(end))
    last = min(int(end), size - 1) if begin and end else size - 1
    if not first <= last:
        raise Refused(416, f"{said} is no part of {size} bytes", headers={"Content-Range": f"bytes */{size}"})
    return first, last + 1 - first


async def refused(request: Request, error: Exception) -> Response:
    """The answer to a request that was refused, as JSON."""
    if isinstance(error, SafetensorsError):
        error.path = None
        error = Refused(422, str(error), error.rule)
    assert isinstance(error, Refused)
    rule = {"rule": error.rule} if error.rule else {}
    return JSONResponse({"error": error.why, **rule}, error.status, error.headers)


async def gone(request: Request, error: Exception) -> Response:
    """The client went in the middle of its request: nobody reads the answer."""
    return Response(status_code=400)
