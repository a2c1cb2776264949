"""What a call costs in the interpreter that runs this file, with `-I -S`. calls.py starts it; it
prints a line of JSON. Each case is a loop compiled for that case alone: CPython 3.11 and later
specialise a code object for the types that it has met (PEP 659), so in a shared loop the first case
would set the terms for all others. Standard library only.
"""

import json
import random
import sys
import timeit
from functools import singledispatch
from typing import Protocol, runtime_checkable

# what a loop uses, as its own names
LOCAL = ("things", "plain", "hinted", "table", "chosen", "Runtime", "Absent")
CASES = {  # name: what the loop does with each x, and how many types there are
    "loop alone": ("pass", 1),
    "a function": ("plain(x)", 1),
    "a function, annotated": ("hinted(x)", 1),
    "a method, 1 type": ("x.infer()", 1),
    "a method, 2 types": ("x.infer()", 2),
    "a method, 64 types": ("x.infer()", 64),
    "getattr": ("getattr(x, 'infer')()", 1),
    "dict of functions, 1 type": ("table[type(x)](x)", 1),
    "dict of functions, 64 types": ("table[type(x)](x)", 64),
    "singledispatch": ("chosen(x)", 1),
    "isinstance, runtime protocol": ("isinstance(x, Runtime)", 1),
    "isinstance, the answer is no": ("isinstance(x, Absent)", 1),
}
# objects in a pass; so many in a mix that the processor can't learn their order
THINGS, MIXED = (1024, 4096)
SHARES = range(0, 101, 10)  # per cent of the second type
ORDERS = ("shuffled", "sorted by type")
# seconds a measurement, so short that some aren't interrupted; measurements a round
SHORT, TIMES = (0.002, 4)


@runtime_checkable
class Runtime(Protocol):
    def infer(self): ...


@runtime_checkable
class Absent(Protocol):
    def absent(self): ...


def backend() -> type:
    """A new type, with a method compiled for it alone: one code object for all types would keep
    calls specialised.
    """
    names: dict = {}
    exec("def infer(self): pass", names)
    return type("Backend", (), {"infer": names["infer"]})


def functions(kinds: list) -> dict:
    """Each type's own function: if all had the same one, the call would stay specialised."""
    return {kind: kind.infer for kind in kinds}


def plain(x):  # not annotated, unlike `hinted`
    pass


def hinted(x: Runtime) -> None:
    pass


@singledispatch
def chosen(x: object) -> None:
    raise TypeError(type(x))


def prepared(body: str, types: int):
    kinds = [backend() for _ in range(types)]
    for kind, function in functions(kinds).items():
        chosen.register(kind, function)
    things = [kinds[i % types]() for i in range(THINGS)]
    random.Random(0).shuffle(things)  # or the processor learns the order of the types
    return timed(body, things, kinds)


def mixed(share: int, order: str):
    kinds = [backend(), backend()]
    types = [kinds[100 * i < share * MIXED] for i in range(MIXED)]
    if order == "shuffled":
        # not the objects: those lie in memory in the order in which they are called
        random.Random(0).shuffle(types)
    return timed("x.infer()", [kind() for kind in types], kinds)


def timed(body: str, things: list, kinds: list):
    """How many things, and a function: passes -> seconds for so many passes over them, in a fresh
    code object.
    """
    names = {"things": things, "table": functions(kinds)}
    setup = "; ".join(f"{name} = given[{name!r}]" for name in LOCAL)
    return len(things), timeit.Timer(
        f"for x in things: {body}", setup, globals={"given": globals() | names}
    ).timeit


def costs(rounds: int, cases: dict) -> dict[str, float]:
    """Seconds per iteration, by case: the minimum of `rounds`, in turns, so that a busy moment hits
    all cases alike.
    """
    passes = {}
    for name, (_, seconds) in cases.items():
        seconds(1)  # specialises
        passes[name] = max(1, round(SHORT / seconds(1)))
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(rounds * TIMES):
        for name, (count, seconds) in cases.items():
            best[name] = min(best[name], seconds(passes[name]) / passes[name] / count)
    return best


if __name__ == "__main__":
    calls = {name: prepared(*case) for name, case in CASES.items()}
    if sys.argv[2] != "calls":
        calls = {f"{share} %, {order}": mixed(share, order) for share in SHARES for order in ORDERS}
    print(json.dumps(costs(int(sys.argv[1]), calls)))
