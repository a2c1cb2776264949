"""06.vtable: for three values of three types, the size from each table, and what the table's function returns."""

import ctypes
import secrets

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB

CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGTRAP")
TURNS = {
    "called-drop": "it called the function at offset 0 of the table. That is `drop`: the value would be gone now. "
    "`infer` is the fourth word.",
    "data-as-table": "it took the first word of the fat pointer for the address of the table. That one leads to the "
    "data; the table's is the second word.",
    "one-hop": "it looked for `infer` 24 bytes behind the fat pointer itself. The fat pointer has two words only. Its "
    "second word is the address of the table: go there first.",
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
        told = planted(memory, 1024 * number, fields, formula, kept) | {"x": x, "result": formula(x, *fields)}
        given = function(told["fat"], x)
        pair = isinstance(given, tuple | list) and len(given) == 2
        as_asked = told["heard"] == [(told["data"], x)] and not told["wrong"]
        told["right"] = as_asked and pair and tuple(given) == (told["size"], told["result"])
        told["given"] = [one if type(one) in (int, float) else repr(one)[:200] for one in given] if pair else None
        told["shown"] = repr(given)[:200]
        if not told["right"]:
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
    size = 8 * len(fields)
    words[0:4] = [data, table, 0, on_fat]
    doubles[8 : 8 + len(fields)] = fields
    words[8 + 3] = on_data
    words[24:28] = [drop_at, size, 8, infer_at]
    return {"fat": fat, "data": data, "table": table, "size": size, "heard": heard, "wrong": wrong}


def judge(attempt: Attempt) -> Verdict:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError("it needs a machine with addresses of 8 bytes")
    xs = [1 + secrets.randbelow(2**52) / 2**52 for _ in range(3)]
    try:
        told = attempt.run(run, xs, memory_limit=256 * MiB).value
    except NotYet as slip:
        if attempt.recording.ended not in CRASHES:
            raise
        why = (
            f"its process was ended by {attempt.recording.ended}: it read from an address where there is no memory, or "
            "jumped to one where there is no function. Something was taken for an address that is none, or is half of "
            "one: an address has 8 bytes, offsets count bytes, and the table holds the address of `infer`, not its "
            "code."
        )
        raise NotYet("no-address", why) from slip
    if not told["right"]:
        refuse(told)
    figures = (f"{len(xs)} types, {len(xs)} tables", "2 words in a fat pointer, 4 in a table")
    return right(
        "You called functions of three types that you have never seen, through nothing but addresses.", figures
    )


def refuse(told: dict) -> None:
    """NotYet says where the call, or what was returned, went wrong."""
    if told["wrong"]:
        raise NotYet(told["wrong"][0], TURNS[told["wrong"][0]])
    if not told["heard"]:
        why = f"`infer` was never called; it returned {told['shown']}. Read the table's fourth word, and call that."
        raise NotYet("not-called", why)
    data, x = told["heard"][-1]
    if data != told["data"]:
        named = {told["fat"]: "the address of the fat pointer", told["table"]: "the address of the table"}
        what = named.get(data, hex(data))
        why = f"`infer` was given {what}; expected the address of the data, the fat pointer's first word."
        raise NotYet("wrong-data", why)
    if x != told["x"]:
        why = (
            f"`infer` was called with x = {told['x']!r}, and {x!r} arrived. It expects a C double, 8 bytes. What does "
            "your prototype say?"
        )
        raise NotYet("wrong-prototype", why)
    if len(told["heard"]) > 1:
        raise NotYet("called-again", f"`infer` was called {len(told['heard'])} times. Call it once.")
    if told["given"] is None:
        why = f"it returned {told['shown']}. Return two things: the size, and what `infer` returned."
        raise NotYet("no-pair", why)
    size, result = told["given"]
    if result != told["result"]:
        why = (
            f"`infer` returned {told['result']!r}, and you returned {result!r}. Which type of result does your "
            "prototype name?"
        )
        raise NotYet("wrong-prototype", why)
    why = (
        f"you gave {size!r} as the size; expected {told['size']}, how many bytes a value of this type has. That is the "
        "table's second word, at offset 8."
    )
    raise NotYet("wrong-size", why)
