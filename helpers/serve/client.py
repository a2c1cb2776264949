"""What a client says to the server: a request, a file, the same pictures again and again.

>>> for load in asking(server.address, "m", pictures, looks=20):
...     print(load.answers, load.failed)
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ..ideas.upload import checksum
from ..measure.load import Load, Look, Tick
from ..measure.machine import here

TIMEOUT_S = 20.0
INTERVAL_S = 0.2  # between two looks
TICK_S = 0.1
PAUSE_S = 0.01  # after a failure
LOAD_TIMEOUT_S = 5.0
CONNECTIONS = 4


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    address: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request over a connection of its own, so any worker may answer it. A body that isn't
    bytes goes as JSON.
    """
    body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with closing(HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return Answer(
            answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
        )


def put(address: str, name: str, file: str | os.PathLike[str]) -> Answer:
    """Sends a model, whole and in one request. If it was published, `.json["version"]` names it."""
    return ask(
        address, "PUT", f"/models/{name}", Path(file).read_bytes(), {"Repr-Digest": checksum(file)}
    )


def metrics(address: str) -> dict[str, Any]:
    return ask(address, "GET", "/metrics").json


def asking(address: str, model: str, pictures: np.ndarray, looks: int) -> Iterator[Load]:
    """Has the model read the pictures, (n, 64) uint8, again and again. Looks at the server so many
    times, once every INTERVAL_S, and yields what came of it until then; in the end once more.
    """
    command = [sys.executable, "-m", __name__, address, model]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        print(pictures.tobytes().hex(), file=process.stdin, flush=True)
        load = Load(here(None), began=float(process.stdout.readline()))

        def gather() -> None:
            for line in process.stdout:
                tick, refused, seen = json.loads(line)
                load.ticks.append(Tick(*tick))
                load.refused.update(refused)
                load.seen.update({(version, digits): often for version, digits, often in seen})

        gathering = threading.Thread(target=gather)
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


def _look(address: str, at: float) -> Look:
    figures = metrics(address)
    together = figures["together"]
    ended = tuple(row["ended by"] for row in figures["workers"] if row["ended by"])
    return Look(at, together["anonymous"], together["mapped pss"], together["starts"], ended)


def ask_again_and_again(address: str, model: str, pictures: bytes, results: SimpleQueue) -> None:
    """For each request, puts the seconds it took and the answer's body; or None, and what went
    wrong.
    """
    connection = HTTPConnection(address, timeout=LOAD_TIMEOUT_S)
    while True:
        began = time.monotonic()
        try:
            connection.request("POST", f"/models/{model}/answers", pictures)
            answer = connection.getresponse()
            body = answer.read()
            result = (
                (time.monotonic() - began, body)
                if answer.status == 200
                else (None, str(answer.status))
            )
        except (OSError, HTTPException):
            # the next request opens it again, and perhaps another worker takes it
            connection.close()
            result = None, "connection lost"
        results.put(result)
        if result[0] is None:
            time.sleep(PAUSE_S)


def main() -> None:
    """Asks over several connections at once, and prints what it got, a line of JSON for each tick:
    `asking` starts it. It ends with its standard input, whose first line has the pictures.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who ends this
    if hasattr(os, "nice"):
        os.nice(10)  # whoever watches comes first
    address, model = sys.argv[1:]
    pictures = bytes.fromhex(sys.stdin.readline())
    results = SimpleQueue()
    for _ in range(CONNECTIONS):
        threading.Thread(
            target=ask_again_and_again, args=(address, model, pictures, results), daemon=True
        ).start()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    began = last = time.monotonic()
    print(began, flush=True)
    while not ended.wait(TICK_S):
        tick = [results.get() for _ in range(results.qsize())]
        now = time.monotonic()
        took = sorted(seconds for seconds, _ in tick if seconds is not None)
        slowest = took[int(0.99 * len(took))] if took else None
        failures = Counter(reason for seconds, reason in tick if seconds is None)
        bodies = Counter(body for seconds, body in tick if seconds is not None).items()
        answers = [(json.loads(body), often) for body, often in bodies]
        named = [[answer["version"], str(answer["digits"]), often] for answer, often in answers]
        counts = [now - began, now - last, len(took), failures.total(), slowest]
        print(json.dumps([counts, failures, named]), flush=True)
        last = now


if __name__ == "__main__":
    main()
