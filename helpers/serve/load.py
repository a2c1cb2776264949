"""Load: asks for answers over several connections at once, and tells what it got, a line of JSON for each tick.

`asking` (client.py) starts it, as a process of its own: python -m helpers.serve.load ADDRESS MODEL. It ends with its
standard input, whose first line has the pictures.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException

TICK = 0.1  # seconds
PAUSE = 0.01  # seconds after a failure
PATIENCE = 5.0  # seconds for an answer
CONNECTIONS = 4


class Tally:
    """What the threads count until the next tick."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        self.took: list[float] = []
        self.seen: Counter[bytes] = Counter()
        self.refused: Counter[str] = Counter()

    def answered(self, took: float, body: bytes) -> None:
        with self.lock:
            self.took.append(took)
            self.seen[body] += 1

    def failed(self, why: str) -> None:
        with self.lock:
            self.refused[why] += 1

    def taken(self) -> tuple[list[float], Counter[str], Counter[bytes]]:
        with self.lock:
            found = self.took, self.refused, self.seen
            self.begin()
        return found


def ask_again_and_again(address: str, model: str, pictures: bytes, tally: Tally) -> None:
    line = HTTPConnection(address, timeout=PATIENCE)
    while True:
        began = time.monotonic()
        try:
            line.request("POST", f"/models/{model}/answers", pictures)
            answer = line.getresponse()
            body = answer.read()
        except (OSError, HTTPException):
            line.close()  # the next request opens it again, and perhaps another worker takes it
            tally.failed("connection lost")
            time.sleep(PAUSE)
            continue
        if answer.status == 200:
            tally.answered(time.monotonic() - began, body)
        else:
            tally.failed(str(answer.status))
            time.sleep(PAUSE)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who ends this
    if hasattr(os, "nice"):
        os.nice(10)  # whoever watches comes first
    address, model = sys.argv[1:]
    pictures, tally = bytes.fromhex(sys.stdin.readline()), Tally()
    for _ in range(CONNECTIONS):
        threading.Thread(target=ask_again_and_again, args=(address, model, pictures, tally), daemon=True).start()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    began = last = time.monotonic()
    print(began, flush=True)
    while not ended.wait(TICK):
        took, refused, seen = tally.taken()
        now, slowest = time.monotonic(), sorted(took)[int(0.99 * len(took))] if took else None
        answers = [(json.loads(body), often) for body, often in seen.items()]
        named = [[answer["version"], str(answer["digits"]), often] for answer, often in answers]
        print(json.dumps([[now - began, now - last, len(took), refused.total(), slowest], refused, named]), flush=True)
        last = now


if __name__ == "__main__":
    main()
