"""06.vtable: for three values of three types, the size from each table, and what the table's
function returns.
"""

import ctypes
import secrets

from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, first_of, right
from helpers.units import MiB

NO_ADDRESS = (
    "it read from an address where there's no memory, or jumped to one where there's no function,"
    " and its process crashed. An address has 8 bytes, offsets count bytes, and the table holds "
    "the address of `infer`, not its code."
)
TURNS = {
    "called-drop": (
        "it called the function at offset 0 of the table. That's `drop`, and the value would be "
        "gone now."
    ),
    "data-as-table": (
        "it took the fat pointer's first word for the address of the table. That word leads to the "
        "data."
    ),
    "one-hop": (
        "it looked for `infer` 24 bytes past the fat pointer, which has only two words. Go to the "
        "table first."
    ),
}


FORMULAS = (  # what each type's `infer` makes of x and the fields of a value
    lambda x, factor, offset: factor * x + offset,
    lambda x, factor: factor * x,
    lambda x, a, b, c: (a * x + b) * x + c,
)


def run(function, cases: list[tuple[float, list[float]]]) -> list[dict]:
    """Asks about values of three types, each an x and its fields. For each, up to the first that
    went wrong: what the function returned, where the value lay, and what was called with what.
    """
    import mmap

    # far up in the address space: half of an address leads nowhere
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    kept, told = [], []
    for number, ((x, fields), formula) in enumerate(zip(cases, FORMULAS, strict=True)):
        value = planted(memory, 1024 * number, fields, formula, kept)
        given = function(value.pop("fat"), x)
        pair = isinstance(given, tuple | list) and len(given) == 2
        given = (
            [getattr(each, "item", lambda each=each: each)() for each in given] if pair else given
        )
        numbers = pair and all(type(each) in (int, float) for each in given)
        told.append(value | {"given": given if numbers else repr(given)[:200]})
        if value["wrong"]:
            break
    return told


def planted(memory, at: int, fields: list, formula, kept: list) -> dict:
    """Puts a fat pointer, a value and a table into the 320 bytes of `memory` from `at` on. Returns
    their addresses and two lists to be filled: what `infer` hears, and which wrong functions are
    called. Every wrong turn leads to the address of a function too, which reports it. `kept` keeps
    the functions alive.
    """
    import ctypes
    import math

    called_as = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)
    words, doubles = (
        (kind * 40).from_buffer(memory, at) for kind in (ctypes.c_uint64, ctypes.c_double)
    )
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
    drop_at, infer_at, on_fat, on_data = (
        ctypes.cast(code, ctypes.c_void_p).value for code in functions
    )
    words[0:4] = [data, table, 0, on_fat]
    doubles[8 : 8 + len(fields)] = fields
    words[8 + 3] = on_data
    words[24:28] = [drop_at, 8 * len(fields), 8, infer_at]
    return {"fat": fat, "data": data, "heard": heard, "wrong": wrong}


def judge(attempt: Attempt) -> Verdict:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError("it needs a machine with 8-byte addresses")
    cases = [
        (1 + any_number(), [any_number() - 0.5 for _ in range(fields)]) for fields in (2, 1, 3)
    ]
    told = attempt.run(
        run, cases, memory_limit=256 * MiB, means={CRASH: ("no-address", NO_ADDRESS)}
    ).value
    slips = []
    for value, (x, fields), formula in zip(told, cases, FORMULAS, strict=False):
        try:
            must_be_called_through(value, x, [8 * len(fields), formula(x, *fields)])
        except NotYet as slip:
            slips.append(slip)
    if slips:
        raise first_of(slips)
    figures = (
        f"{len(cases)} types, {len(cases)} tables",
        "2 words in a fat pointer, 4 in a table",
    )
    done = (
        "You called functions of three types that you've never seen, through nothing but addresses."
    )
    return right(done, figures)


def any_number() -> float:
    return secrets.randbelow(2**52) / 2**52


def must_be_called_through(told: dict, x: float, wanted: list) -> None:
    """Raises NotYet if a turn was wrong, and says which, as far as it shows."""
    if told["wrong"]:
        raise NotYet(told["wrong"][0], TURNS[told["wrong"][0]])
    if told["heard"] != [(told["data"], x)]:
        calls = (
            ", ".join(f"infer({data:#x}, {heard!r})" for data, heard in told["heard"]) or "no call"
        )
        why = (
            f"expected one call, `infer({told['data']:#x}, {x!r})`; got {calls}. The data's "
            "address is the fat pointer's first word, and x is a C double."
        )
        raise NotYet("wrong-call", why)
    given, begin = told["given"], f"expected {wanted}, got {told['given']}."
    if given == wanted:
        return
    if given == wanted[::-1]:
        raise NotYet("swapped", f"{begin} The size comes first.")
    if given[1:] == wanted[1:]:
        why = f"{begin} The size is the table's second word."
        # the sizes alone can be had by heart
        raise NotYet("wrong-size", why, half="what `infer` returns")
    raise NotYet("wrong-result", f"{begin} `infer` returns a C double: does your prototype say so?")
