"""What a client says to the server: a request, a file, the same pictures again and again.

>>> for load in asking(server.address, "m", pictures, looks=20):
...     print(load.answers, load.failed)
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..ideas.upload import checksum
from ..measure.load import Load, Look, Tick
from ..measure.machine import here

TIMEOUT_S = 20.0
INTERVAL_S = 0.2  # between two looks


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(address: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
    """One request over a connection of its own, so any worker may answer it. A body that isn't bytes goes as JSON."""
    body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with closing(HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())


def put(address: str, name: str, file: str | os.PathLike[str]) -> Answer:
    """Sends a model, whole and in one request. If it was published, `.json["version"]` names it."""
    path = Path(file)
    return ask(address, "PUT", f"/models/{name}", path.read_bytes(), {"Repr-Digest": checksum(path)})


def metrics(address: str) -> dict[str, Any]:
    return ask(address, "GET", "/metrics").json


def asking(address: str, model: str, pictures: np.ndarray, looks: int) -> Iterator[Load]:
    """Has the model read the pictures, (n, 64) uint8, again and again. Looks at the server so many times, once every
    INTERVAL_S, and yields what came of it until then; in the end once more."""
    command = [sys.executable, "-m", f"{__package__}.load", address, model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        print(pictures.tobytes().hex(), file=process.stdin, flush=True)
        load = Load(here(None), began=float(process.stdout.readline()))
        gathering = threading.Thread(target=_gather, args=(process.stdout, load))
        gathering.start()
        try:
            for _ in range(looks):
                load.looks.append(_look(address, load.now))
                yield load
                time.sleep(INTERVAL_S)
        finally:
            process.stdin.close()  # that ends it
            gathering.join()
        load.looks.append(_look(address, load.now))
        yield load


def _gather(lines: Iterable[str], load: Load) -> None:
    for line in lines:
        tick, refused, seen = json.loads(line)
        load.ticks.append(Tick(*tick))
        load.refused.update(refused)
        load.seen.update({(version, digits): often for version, digits, often in seen})


def _look(address: str, at: float) -> Look:
    figures = metrics(address)
    together = figures["together"]
    ended = tuple(row["ended by"] for row in figures["workers"] if row["ended by"])
    return Look(at, together["anonymous"], together["mapped pss"], together["starts"], ended)
