"""06.vtable: for three values of three types, the size from each table, and what the table's function returns."""

import ctypes
import secrets

from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, right
from helpers.units import MiB

NO_ADDRESS = (
    "it read from an address where there is no memory, or jumped to one where there is no function, and its process "
    "was ended. An address has 8 bytes, offsets count bytes, and the table holds the address of `infer`, not its code."
)
TURNS = {
    "called-drop": "it called the function at offset 0 of the table. That is `drop`, and the value would be gone now.",
    "data-as-table": "it took the fat pointer's first word for the address of the table. That word leads to the data.",
    "one-hop": "it looked for `infer` 24 bytes behind the fat pointer, which has two words. Go to the table first.",
}


def run(function, xs: list[float]) -> dict:
    """Asks for values of three types, one for each x. What was found of the first that went wrong, or of the last: what
    the function returned, and what was called with what."""
    import mmap

    values = (
        ((2.5, -0.75), lambda x, factor, offset: factor * x + offset),
        ((-1.25,), lambda x, factor: factor * x),
        ((0.5, 3.0, -2.0), lambda x, a, b, c: (a * x + b) * x + c),
    )
    memory = mmap.mmap(-1, mmap.PAGESIZE)  # far up in the address space: half of an address leads nowhere
    kept, told = [], {}
    for number, (x, (fields, formula)) in enumerate(zip(xs, values, strict=True)):
        told = planted(memory, 1024 * number, fields, formula, kept) | {"x": x}
        given = function(told["fat"], x)
        wanted = (8 * len(fields), formula(x, *fields))
        told["right"] = isinstance(given, tuple | list) and tuple(given) == wanted
        told |= {"given": repr(given)[:200], "wanted": repr(wanted)}
        if told["wrong"] or told["heard"] != [(told["data"], x)] or not told["right"]:
            break
    return told


def planted(memory, at: int, fields: tuple, formula, kept: list) -> dict:
    """Fat pointer, value and table in the 320 bytes of `memory` from `at` on; their addresses, and two lists: what
    `infer` will have heard, and which wrong functions will have been called. Where a wrong turn leads to, there lies
    the address of a function as well, one that tells. `kept` keeps the functions alive.
    """
    import ctypes
    import math

    called_as = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)
    words, doubles = ((kind * 40).from_buffer(memory, at) for kind in (ctypes.c_uint64, ctypes.c_double))
    heard, wrong = [], []
    fat = ctypes.addressof(words)
    data, table = fat + 8 * 8, fat + 24 * 8

    def infer(given, x):
        heard.append((given or 0, x))
        return formula(x, *fields) if given == data else math.nan

    functions = (
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda given: wrong.append("called-drop")),
        called_as(infer),
        called_as(lambda given, x: wrong.append("one-hop") or 0.0),
        called_as(lambda given, x: wrong.append("data-as-table") or 0.0),
    )
    kept += functions
    drop_at, infer_at, on_fat, on_data = (ctypes.cast(one, ctypes.c_void_p).value for one in functions)
    words[0:4] = [data, table, 0, on_fat]
    doubles[8 : 8 + len(fields)] = fields
    words[8 + 3] = on_data
    words[24:28] = [drop_at, 8 * len(fields), 8, infer_at]
    return {"fat": fat, "data": data, "heard": heard, "wrong": wrong}


def judge(attempt: Attempt) -> Verdict:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError("it needs a machine with addresses of 8 bytes")
    xs = [1 + secrets.randbelow(2**52) / 2**52 for _ in range(3)]
    means = {CRASH: ("no-address", NO_ADDRESS)}
    told = attempt.run(run, xs, memory_limit=256 * MiB, means=means).value
    if told["wrong"]:
        raise NotYet(told["wrong"][0], TURNS[told["wrong"][0]])
    if told["heard"] != [(told["data"], told["x"])]:
        calls = ", ".join(f"infer({data:#x}, {x!r})" for data, x in told["heard"]) or "no call"
        why = (
            f"expected one call, `infer({told['data']:#x}, {told['x']!r})`; got {calls}. The data's address is the fat "
            "pointer's first word, and x a C double."
        )
        raise NotYet("wrong-call", why)
    if not told["right"]:
        why = (
            f"expected {told['wanted']}, got {told['given']}. The size is the table's second word, and `infer` returns "
            "a C double: does your prototype say so?"
        )
        raise NotYet("wrong-result", why)
    figures = (f"{len(xs)} types, {len(xs)} tables", "2 words in a fat pointer, 4 in a table")
    done = "You called functions of three types that you have never seen, through nothing but addresses."
    return right(done, figures)
