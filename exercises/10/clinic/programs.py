"""The three programs of the clinic: `python programs.py NAME FOLDER`. Each does its work and says
"ready". After that it evaluates each line of its input, a text in JSON, until the input ends.
"""

import atexit
import json
import mmap
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np


def gauge(folder):
    """The readings of eight days: of each the mean, the extremes, and the last three."""
    global means, extremes, latest
    means, extremes, latest = {}, {}, {}
    for day in range(1, 9):
        log = folder / f"day-{day}.log"
        np.linspace(day, day + 1, 1 << 20).tofile(log)
        readings = np.fromfile(log)
        means[day] = float(readings.mean())
        extremes[day] = readings[[readings.argmin(), readings.argmax()]]
        latest[day] = readings[-3:]


def pool(folder):
    """Three forked workers. Each weighs all words and changes nothing."""
    global words, weights, workers
    words = [f"{number:060}" for number in range(200_000)]
    weights = np.ones(len(words) * 20)
    until, parent_lives = os.pipe()
    workers = []
    for _ in range(3):
        looked, done = os.pipe()
        worker = os.fork()
        if not worker:
            os.close(parent_lives)
            sum(len(word) * weight for word, weight in zip(words, weights[::20]))
            os.write(done, b"done")
            os.read(until, 1)  # returns when the parent has closed its end, or died
            os._exit(0)
        workers.append(worker)
        os.close(done)
        os.read(looked, 4)

    @atexit.register
    def end():
        os.close(parent_lives)
        for worker in workers:
            os.waitpid(worker, 0)


def titles(folder):
    """An index of titles, and the new one that has replaced it. What was answered is kept."""
    global index, lengths, answered
    lengths, answered = {}, []
    for version in (1, 2):
        path = folder / f"titles-{version}.index"
        with open(path, "wb") as file:
            for _ in range(256):
                file.write(b"On the origin of species" * 4096)
        with open(path, "rb") as file:
            index = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        lengths[version] = len(index)
        answered.append(index[:24] if version == 1 else bytes(index[:24]))
    (folder / "titles-1.index").unlink()


def answer(line):
    """What an expression evaluates to, as it prints."""
    from helpers.measure import where, who_holds

    try:
        return repr(eval(line, globals() | {"where": where, "who_holds": who_holds}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # and so removes its files
    with tempfile.TemporaryDirectory(dir=sys.argv[2], prefix="clinic-") as made:
        folder = Path(made)
        {"gauge": gauge, "pool": pool, "titles": titles}[sys.argv[1]](folder)
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)
