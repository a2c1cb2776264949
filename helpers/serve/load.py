"""Load: a process of its own asks for answers, over several connections at once, and tells what it got, tick by tick.

>>> for load in asking(server.address, "m", pictures, seconds=5):
...     print(load.answers, load.failed)
"""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

import numpy as np

from ..measure import Load, here
from ..measure.load import Look, Tick
from .client import metrics

TICK = 0.1  # seconds
CONNECTIONS = 4


def asking(address: str, model: str, pictures: np.ndarray, seconds: float, every: float = 0.3) -> Iterator[Load]:
    """Has the model read the pictures, (n, 64) uint8, again and again, for so long. Yields what came of it until now,
    every so many seconds."""
    command = [sys.executable, "-m", __name__, address, model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdin.write(pictures.tobytes().hex() + "\n")
            process.stdin.flush()
            load = Load(here(None), began=float(process.stdout.readline()))
            told = threading.Thread(target=_gather, args=(process.stdout, load))
            told.start()
            while load.now < seconds:
                load.looks.append(_look(address, load.now))
                yield load
                time.sleep(every)
            process.stdin.close()  # that ends it
            told.join()
            yield load
        finally:
            process.kill()


def _gather(lines: Iterator[str], load: Load) -> None:
    for line in lines:
        tick, seen = json.loads(line)
        load.ticks.append(Tick(*tick))
        load.seen.update({(version, digits): often for version, digits, often in seen})


def _look(address: str, at: float) -> Look:
    found = metrics(address)
    together, pids = found["together"], tuple(row["pid"] for row in found["workers"])
    return Look(at, together["anonymous"], together["mapped"], pids)


class Tally:
    """What the threads count until the next tick."""

    def __init__(self) -> None:
        self.lock, self.took, self.failed, self.seen = threading.Lock(), [], 0, Counter()

    def answered(self, took: float, body: bytes) -> None:
        with self.lock:
            self.took.append(took)
            self.seen[body] += 1

    def refused(self) -> None:
        with self.lock:
            self.failed += 1

    def taken(self) -> tuple[list[float], int, list]:
        with self.lock:
            took, failed, seen = self.took, self.failed, self.seen
            self.took, self.failed, self.seen = [], 0, Counter()
        answers = ((json.loads(body), often) for body, often in seen.items())
        return sorted(took), failed, [[one["version"], str(one["digits"]), often] for one, often in answers]


def ask_again_and_again(address: str, model: str, pictures: bytes, tally: Tally) -> None:
    line = HTTPConnection(address, timeout=5)
    while True:
        began = time.monotonic()
        try:
            line.request("POST", f"/models/{model}/answers", pictures)
            answer = line.getresponse()
            body = answer.read()
        except (OSError, HTTPException):  # the worker died, or closed the connection
            line.close()
            answer = None
        if answer and answer.status == 200:
            tally.answered(time.monotonic() - began, body)
        else:
            tally.refused()
            time.sleep(0.01)


def main() -> None:
    address, model = sys.argv[1:]
    pictures, tally = bytes.fromhex(sys.stdin.readline()), Tally()
    for _ in range(CONNECTIONS):
        threading.Thread(target=ask_again_and_again, args=(address, model, pictures, tally), daemon=True).start()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    began = last = time.monotonic()
    print(began, flush=True)
    while not ended.wait(TICK):
        took, failed, seen = tally.taken()
        now = time.monotonic()
        slowest = took[int(0.99 * len(took))] if took else None
        print(json.dumps([[now - began, now - last, len(took), failed, slowest], seen]), flush=True)
        last = now


if __name__ == "__main__":
    main()
