"""A client of helpers.serve, and models for it whose answers tell them apart."""

import hashlib
import socket
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.ideas.safetensors import TensorFile
from helpers.make.digits import DIGITS, digit_model, digits
from helpers.serve.client import Answer, ask

PICTURES, _ = digits()
PICTURES = PICTURES.reshape(-1, 64)


def sha(data: bytes) -> dict[str, str]:
    return {"Repr-Digest": f"sha-256=:{b64encode(hashlib.sha256(data).digest()).decode()}:"}


def part(data: bytes, first: int, end: int) -> dict[str, str]:
    return sha(data) | {"Content-Range": f"bytes {first}-{end - 1}/{len(data)}"}


def put(address: str, data: bytes, name: str = "m", **headers: str) -> Answer:
    return ask(address, "PUT", f"/models/{name}", data, sha(data) | headers)


def read(address: str, query: str = "", pictures: np.ndarray = PICTURES[:20]) -> Answer:
    return ask(address, "POST", f"/models/m/answers{query}", pictures.tobytes())


def model(tmp_path: Path, turn: int = 0, hidden: int = 0) -> bytes:
    """A file of weights that read the digit d as (d + turn) % 10. With `hidden`, it has that many
    hidden units.
    """
    return digit_model(tmp_path / "made.safetensors", turn, 300 * hidden).read_bytes()


def expected(turn: int = 0, pictures: np.ndarray = PICTURES[:20]) -> list[int]:
    """What model(turn) reads, in plain numpy."""
    with TensorFile(DIGITS) as file:
        w, b, v, c = (
            file[name] for name in ("hidden.weight", "hidden.bias", "out.weight", "out.bias")
        )
        return (
            ((np.maximum(pictures / np.float32(16) @ w.T + b, 0) @ v.T + c).argmax(1) + turn)
            .__mod__(10)
            .tolist()
        )


def upload_of(name: str, data: bytes) -> bytes:
    """The head of an upload, whole and in one request."""
    digest = sha(data)["Repr-Digest"]
    head = (
        f"PUT /models/{name} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\nRepr-Digest: "
        f"{digest}\r\n\r\n"
    )
    return head.encode()


def begun(address: str, name: str, data: bytes, count: int) -> socket.socket:
    """The connection of such an upload, of which the first `count` bytes have been sent."""
    line = socket.create_connection(tuple(address.split(":")), timeout=20)
    line.sendall(upload_of(name, data) + data[:count])
    return line


def workers(address: str) -> list[dict]:
    # a busy server says so instead
    return until(lambda: ask(address, "GET", "/metrics").json.get("workers"))


def altered(code: str) -> tuple[str, ...]:
    """The command of a server in whose processes this code runs first."""
    return sys.executable, "-c", f"import os, sys, time\n{code}\n{ALTERED}"


ALTERED = "from helpers.serve.__main__ import main; sys.argv[1:4] = []; main()"


def raw(address: str, *pieces: bytes) -> bytes:
    """Sends these bytes. Returns at least the head of the answer, or b"" if no answer comes for a
    while.
    """
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=3) as line:
        said = b""
        try:
            for piece in pieces:
                line.sendall(piece)
            while more := line.recv(65536):
                said += more
                if b"\r\n\r\n" in said:
                    break
        except (TimeoutError, ConnectionError):
            pass
        return said


def until(true: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Waits until `true()` is true, but no longer than `seconds`. Returns what it said last."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def unfinished(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix in (".part", ".unfinished")]
