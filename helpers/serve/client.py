"""What a client says to the server: a request, a file, pictures to read."""

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 20.0  # seconds


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(address: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
    """One request over a connection of its own, so any worker may answer it."""
    with closing(HTTPConnection(address, timeout=PATIENCE)) as line:
        line.request(method, path, body or None, dict(headers or {}))
        answer = line.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())


def put(address: str, name: str, file: str | os.PathLike[str]) -> Answer:
    """Sends a model, whole and in one request. If it was published, `.json["version"]` names it."""
    data = Path(file).read_bytes()
    digest = b64encode(hashlib.sha256(data).digest()).decode()
    return ask(address, "PUT", f"/models/{name}", data, {"Repr-Digest": f"sha-256=:{digest}:"})


def metrics(address: str) -> dict[str, Any]:
    return ask(address, "GET", "/metrics").json
