"""What a Cow costs, against what you'd use without it: `python benchmarks/bench_cow.py`."""

import timeit

import numpy as np

from helpers.ideas.cow import Cow
from helpers.measure.machine import here
from helpers.units import KiB, MiB, in_words

ROUNDS = 60
SHORT = 0.001  # seconds per measurement, so some run without interruption


class Plain:
    def __init__(self, value: np.ndarray):
        self.value = value


def seconds(statement: str, **names: object) -> float:
    """Seconds per run of the statement, in the best round; the loop adds less than 10 ns."""
    timer = timeit.Timer(statement, globals=names)
    calls = max(1, round(SHORT / timer.timeit(1)))
    calls = max(1, round(SHORT / timer.timeit(calls) * calls))
    return min(timer.repeat(ROUNDS, calls)) / calls


def access() -> None:
    """Reading a value and asking who owns it: copies nothing, at any size."""
    array = np.zeros(1000)
    plain, lent, own = Plain(array), Cow.borrowed(array), Cow.owned(array)
    ways = {
        "`plain.value`, an attribute": seconds("x.value", x=plain),
        "`cow.value`": seconds("x.value", x=lent),
        "`cow.is_borrowed`": seconds("x.is_borrowed", x=lent),
        "`cow.to_mut()`, already owned": seconds("x.to_mut()", x=own),
        "`array.view()`, made read-only": seconds("x.view().flags.writeable = False", x=array),
        "`Cow.borrowed(array)`": seconds("Cow.borrowed(x)", x=array, Cow=Cow),
    }
    base = next(iter(ways.values()))
    print("| way | ns | × an attribute |\n|---|---:|---:|")
    for way, took in ways.items():
        print(f"| {way} | {took * 1e9:.0f} | {took / base:.1f} |")


def first_write() -> None:
    """Borrow, then clone; against cloning at once, and against never cloning."""
    print("\n| array | `array.copy()` | borrow, `to_mut()` | × the copy | borrow, read `value` |")
    print("|---|---:|---:|---:|---:|")
    for size in (KiB, 64 * KiB, MiB, 64 * MiB):
        array = np.ones(size // 8)
        copy = seconds("x.copy()", x=array)
        write = seconds("Cow.borrowed(x).to_mut()", x=array, Cow=Cow)
        read = seconds("Cow.borrowed(x).value", x=array, Cow=Cow)
        times = " | ".join(
            (f"{copy * 1e6:,.1f} µs", f"{write * 1e6:,.1f} µs", f"{write / copy:.2f}")
        )
        print(f"| {in_words(size, 'bytes')} | {times} | {read * 1e6:,.1f} µs |")


if __name__ == "__main__":
    print(f"{here()}\n")
    access()
    first_write()
