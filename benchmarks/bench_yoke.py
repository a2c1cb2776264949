"""What a Yoke costs against a plain attribute, and YokeCache against reading: `python
benchmarks/bench_yoke.py`.
"""

import functools
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

from helpers.ideas.carts import MappedFile
from helpers.ideas.yoke import Yoke
from helpers.ideas.yoke_cache import YokeCache
from helpers.make import random_file
from helpers.units import in_words, size

ROUNDS = 5
SIZES = ("64 KiB", "1 MiB", "64 MiB")


class Plain:
    """What you'd write without a yoke: the view in an attribute, and hope."""

    def __init__(self, view: np.ndarray) -> None:
        self.view = view

    def get(self) -> np.ndarray:
        return self.view


def floats(view: memoryview) -> np.ndarray:
    return np.frombuffer(view, "f4")


def took(call: Callable[[], object]) -> float:
    """Seconds per call in the best of ROUNDS rounds, each long enough to time."""
    number, _ = timeit.Timer(call).autorange()
    return min(timeit.repeat(call, number=max(1, number // 4), repeat=ROUNDS)) / max(1, number // 4)


def words(seconds: float) -> str:
    unit, factor = next(
        ((u, f) for u, f in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)) if seconds * f < 1000),
        ("s", 1),
    )
    return f"{seconds * factor:,.3g} {unit}"


def access(path: Path) -> None:
    """Times single statements in timeit's own loop, without a call of ours around them."""
    print("| statement | time |\n|---|---:|")
    data = path.read_bytes()
    names = {
        "plain": Plain(floats(data)),
        "yoke": Yoke.attach(MappedFile(path), floats),
        "data": data,
        "Yoke": Yoke,
        "floats": floats,
        "file": path,
        "MappedFile": MappedFile,
        "np": np,
    }
    for title, statement in {
        "plain attribute, `plain.view`": "plain.view",
        "a method that returns it, `plain.get()`": "plain.get()",
        "`yoke.get()`": "yoke.get()",
        "`yoke.clone()`, dropped": "yoke.clone()",
        "`np.frombuffer(data)`, for comparison": "np.frombuffer(data, 'f4')",
        "`Yoke.attach(data, floats)` over bytes, released": "Yoke.attach(data, floats).release()",
        "… over a MappedFile: open, map, attach, unmap": (
            "Yoke.attach(MappedFile(file), floats).release()"
        ),
    }.items():
        timer = timeit.Timer(statement, globals=names)
        number, _ = timer.autorange()
        print(f"| {title} | {words(min(timer.repeat(ROUNDS, number // 4)) / (number // 4))} |")


def caching(folder: Path) -> None:
    """Times the same file again and again, in the page cache. "Used" reads one value per page."""
    header = (
        "`YokeCache.get`, hit",
        "`lru_cache` over read, hit",
        "read again",
        "map again",
        "read again, used",
        "map again, used",
        "`YokeCache.get`, hit, used",
    )
    print("\n| file | " + " | ".join(header) + " |\n|---|" + "---:|" * len(header))
    for text in SIZES:
        path = random_file(folder / text.replace(" ", ""), text)
        with YokeCache(2 * size(text), lambda name: Yoke.attach(MappedFile(name), floats)) as cache:
            read = functools.lru_cache(Path.read_bytes)

            def hit(cache: YokeCache = cache, path: Path = path) -> float:
                with cache.get(path) as view:
                    return view[0]

            def hit_used(cache: YokeCache = cache, path: Path = path) -> float:
                with cache.get(path) as view:
                    return used(view)

            ways = (
                hit,
                lambda p=path, r=read: floats(r(p))[0],
                lambda p=path: floats(p.read_bytes())[0],
                lambda p=path: mapped(p)[0],
                lambda p=path: used(floats(p.read_bytes())),
                lambda p=path: used(mapped(p)),
                hit_used,
            )
            print(
                f"| {in_words(size(text), 'bytes')} | "
                + " | ".join(words(took(way)) for way in ways)
                + " |"
            )


def mapped(path: Path) -> np.ndarray:
    """A view that escaped its yoke: the file stays mapped until the view goes."""
    with Yoke.attach(MappedFile(path), floats) as view:
        return view


def used(values: np.ndarray) -> int:
    return int(np.count_nonzero(values.view("u4")[::1024]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        access(random_file(Path(folder, "small"), "64 KiB"))
        caching(Path(folder))
