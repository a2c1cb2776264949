"""What a request may say. Anything else is refused: `Refused` says with which status, and why. The
headers and statuses of an upload are those of lesson 02 (ideas/inbox.py). What has come of a broken
part is dropped there, and kept here.
"""

import errno
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..ideas.inbox import CONTENT_RANGE, DIGEST, NAME
from ..ideas.safetensors import SafetensorsError

LENGTH = re.compile(r"\d{1,18}", re.ASCII)
# no room or no inode; the user's quota; the file's limit
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Refused(Exception):
    """The answer to a request that can't be met: a status, the reason, the rule it broke if any,
    more headers.
    """

    def __init__(
        self, status: int, reason: str, rule: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.rule = rule
        self.headers = headers or {}


@contextmanager
def disk_full_is_refused() -> Iterator[None]:
    """Turns the errors of a full disk into a refusal, 507."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise Refused(507, "the disk is full") from None


class Part(NamedTuple):
    """A part of an upload: bytes `first` to `last` of `size`, of a file with this SHA-256 (32
    bytes).
    """

    first: int
    last: int
    size: int
    digest: bytes


def name_of(name: str) -> str:
    """The name, if it can be a model's or a tenant's."""
    if not NAME.fullmatch(name):
        raise Refused(
            404, f"{name[:100]!r} can't be a name: up to 100 letters, digits, '.', '_' and '-'"
        )
    return name


def digest_in(request: Request) -> bytes:
    if not (header := DIGEST.fullmatch(request.headers.get("Repr-Digest", ""))):
        raise Refused(400, "Repr-Digest must be the SHA-256 of the whole file: sha-256=:<base64>:")
    return b64decode(header[1])


def part_in(request: Request, largest: int) -> Part:
    """Which part a PUT brings. Without Content-Range it's the whole file."""
    content_length = request.headers.get("Content-Length", "")
    content_range = request.headers.get("Content-Range")
    if not LENGTH.fullmatch(content_length):
        raise Refused(411, "a part says its length: Content-Length")
    length = int(content_length)
    if content_range is None:
        first = 0
        last = length - 1
        size = length
    elif header := CONTENT_RANGE.fullmatch(content_range):
        first, last, size = map(int, header.groups())
    else:
        raise Refused(
            400, f"Content-Range is {content_range[:100]!r}; it would be 'bytes 0-99/200'"
        )
    if not first <= last < size or length != last + 1 - first:
        raise Refused(
            400, f"bytes {first} to {last} of {size} are not the {length} bytes of this part"
        )
    if size > largest:
        raise Refused(413, f"{size:,} bytes are too many; {largest:,} is the limit")
    return Part(first, last, size, digest_in(request))


async def refused(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    if isinstance(error, SafetensorsError):
        error.path = None
        error = Refused(422, str(error), error.rule)
    rule = {"rule": error.rule} if error.rule else {}
    return JSONResponse({"error": error.reason, **rule}, error.status, error.headers)
