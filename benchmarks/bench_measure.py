"""What measuring costs, and what it sees, against memory_profiler: `python
benchmarks/bench_measure.py`.
"""

import statistics
import time

import numpy as np
from memory_profiler import memory_usage

from helpers.measure import measure
from helpers.measure.machine import here
from helpers.units import MiB

ROUNDS = 15
BLOCK = 256 * MiB


def work() -> float:
    """About half a second of arithmetic over 64 MiB. Times itself."""
    block = np.ones(64 * MiB // 8)
    began = time.perf_counter()
    for _ in range(60):
        np.sqrt(block, out=block)
    return time.perf_counter() - began


def spike(held: float) -> None:
    time.sleep(0.02)
    block = np.full(BLOCK // 8, 1.0)
    until = time.perf_counter() + held
    while time.perf_counter() < until:
        pass
    del block
    time.sleep(0.02)


def slow_down() -> None:
    """Compares the same function, watched and unwatched in turn, by medians."""
    unwatched, watched, profiled = [], [], []
    for _ in range(ROUNDS):
        unwatched.append(measure(work, interval=30).value)  # one sample at the start, none later
        watched.append(measure(work, interval=0.001).value)
        profiled.append(memory_usage((work,), interval=0.001, retval=True, max_iterations=1)[1])
    base = statistics.median(unwatched)
    print("| time of the work, against unwatched | |\n|---|---|")
    print(f"| measure, 1 ms | {statistics.median(watched) / base - 1:+.1%} |")
    print(f"| memory_usage, 1 ms | {statistics.median(profiled) / base - 1:+.1%} |\n")


def start_up() -> None:
    """Times everything around the call: interpreter, numpy, loading the function, the first sample,
    the report.
    """

    def nothing() -> None:
        np.e  # noqa: B018  makes measure() import numpy before the call

    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run = measure(nothing)
        took.append(time.perf_counter() - began - run.wall)
    print(
        f"a case that imports numpy costs {min(took):.3f} s at best, {statistics.median(took):.3f} "
        "s in the median\n"
    )


def shortest_spike() -> None:
    """How much of a 256 MiB spike each meter sees, by how long it lasts; the worst of three."""
    print(
        "| held | measure, 1 ms | memory_usage, 1 ms | memory_usage, default |\n|---|---|---|---|"
    )
    for held in (0.1, 0.01, 0.001, 0.0):
        seen = [
            min(see(held) for _ in range(3)) for see in (by_measure, by_profiler_often, by_profiler)
        ]
        print(f"| {held * 1000:g} ms | " + " | ".join(f"{share:.1%}" for share in seen) + " |")


def by_measure(held: float) -> float:
    return measure(spike, held).anonymous.max() / BLOCK


def by_profiler(held: float, **options) -> float:
    base = memory_usage(-1, interval=0.01, timeout=0.02)[0]
    return (max(memory_usage((spike, (held,)), max_iterations=1, **options)) - base) * MiB / BLOCK


def by_profiler_often(held: float) -> float:
    return by_profiler(held, interval=0.001)


if __name__ == "__main__":
    print(f"{here()}\n")
    measure(work)  # the first touch of a machine's memory can cost many times the next
    slow_down()
    start_up()
    shortest_spike()
