"""What a call costs in the interpreter that runs this file, with `-I -S`. Started by calls.py; one line of JSON out.

Every case is a loop compiled for it alone: CPython 3.11 and later specialise a code object for the types that it has
met (PEP 659), so that in a shared loop the first case would set the terms for all that follow. Standard library only.
"""

import json
import random
import sys
import time
from functools import singledispatch
from typing import Protocol, runtime_checkable

LOOP = """
def loop(things, rounds, plain, hinted, table, chosen, Runtime):
    for _ in range(rounds):
        for x in things:
            {}
"""
CASES = {  # name: what the loop does with each x, and how many types the x have
    "loop alone": ("pass", 1),
    "a function": ("plain(x)", 1),
    "a function, annotated": ("hinted(x)", 1),
    "a method, 1 type": ("x.infer()", 1),
    "a method, 2 types": ("x.infer()", 2),
    "a method, 64 types": ("x.infer()", 64),
    "getattr": ("getattr(x, 'infer')()", 1),
    "dict of functions": ("table[type(x)](x)", 1),
    "singledispatch": ("chosen(x)", 1),
    "isinstance, runtime protocol": ("isinstance(x, Runtime)", 1),
}
THINGS = 1024  # objects a pass
SHORT, TIMES = 0.002, 4  # seconds a measurement, so that some of them are not interrupted; measurements a round


@runtime_checkable
class Runtime(Protocol):
    def infer(self): ...


def backend() -> type:
    """A new type, with a method of its own."""

    class Backend:
        def infer(self):
            pass

    return Backend


def plain(x):  # no annotation, beside the one that has them
    pass


def hinted(x: Runtime) -> None:
    pass


@singledispatch
def chosen(x: object) -> None:
    raise TypeError(type(x))


def prepared(body: str, types: int):
    """passes -> seconds that these many passes over THINGS objects take, in a fresh code object."""
    made = [backend() for _ in range(types)]
    for one in made:
        chosen.register(one, plain)
    things = [made[i % types]() for i in range(THINGS)]
    random.Random(0).shuffle(things)  # or the processor learns the order of the types
    names: dict = {}
    exec(compile(LOOP.format(body), body, "exec"), names)
    loop, table = names["loop"], dict.fromkeys(made, plain)

    def seconds(passes: int) -> float:
        began = time.perf_counter()
        loop(things, passes, plain, hinted, table, chosen, Runtime)
        return time.perf_counter() - began

    return seconds


def costs(rounds: int) -> dict[str, float]:
    """Seconds an iteration, by case: the least of `rounds`, taken in turns, so that a busy moment hits all alike."""
    cases = {name: prepared(*case) for name, case in CASES.items()}
    passes = {}
    for name, seconds in cases.items():
        seconds(1)  # specialises
        passes[name] = max(1, round(SHORT / seconds(1)))
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(rounds * TIMES):
        for name, seconds in cases.items():
            best[name] = min(best[name], seconds(passes[name]) / passes[name] / THINGS)
    return best


if __name__ == "__main__":
    this = "{}.{}".format(*sys.version_info)
    print(json.dumps({"python": this, "implementation": sys.implementation.name, "costs": costs(int(sys.argv[1]))}))
