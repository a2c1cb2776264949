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
from queue import SimpleQueue

TICK_S = 0.1
PAUSE_S = 0.01  # after a failure
TIMEOUT_S = 5.0
CONNECTIONS = 4


def ask_again_and_again(address: str, model: str, pictures: bytes, results: SimpleQueue) -> None:
    """For each request, puts the seconds it took and the answer's body; or None, and what went wrong."""
    connection = HTTPConnection(address, timeout=TIMEOUT_S)
    while True:
        began = time.monotonic()
        try:
            connection.request("POST", f"/models/{model}/answers", pictures)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, HTTPException):
            connection.close()  # the next request opens it again, and perhaps another worker takes it
            results.put((None, "connection lost"))
            time.sleep(PAUSE_S)
            continue
        if answer.status == 200:
            results.put((time.monotonic() - began, body))
        else:
            results.put((None, str(answer.status)))
            time.sleep(PAUSE_S)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who ends this
    if hasattr(os, "nice"):
        os.nice(10)  # whoever watches comes first
    address, model = sys.argv[1:]
    pictures, results = bytes.fromhex(sys.stdin.readline()), SimpleQueue()
    for _ in range(CONNECTIONS):
        threading.Thread(target=ask_again_and_again, args=(address, model, pictures, results), daemon=True).start()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    began = last = time.monotonic()
    print(began, flush=True)
    while not ended.wait(TICK_S):
        tick = [results.get() for _ in range(results.qsize())]
        now, took = time.monotonic(), sorted(seconds for seconds, _ in tick if seconds is not None)
        slowest = took[int(0.99 * len(took))] if took else None
        failures = Counter(reason for seconds, reason in tick if seconds is None)
        bodies = Counter(body for seconds, body in tick if seconds is not None)
        answers = [(json.loads(body), often) for body, often in bodies.items()]
        named = [[answer["version"], str(answer["digits"]), often] for answer, often in answers]
        counts = [now - began, now - last, len(took), failures.total(), slowest]
        print(json.dumps([counts, failures, named]), flush=True)
        last = now


if __name__ == "__main__":
    main()
