"""05.normalise: the very same memory where the sum is 1 already, else a new array, and never a second one."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right, within
from helpers.units import KiB, MiB

CLOSE = 1e-5  # a sum no further from 1 than this is 1
IDLE, ONE_COPY = 0.05, 1.1  # of the data


@dataclass(frozen=True)
class Weights:
    """Positive weights with the sum `total`. Where `every` is n they are each n-th column of a matrix in a file."""

    name: str
    shape: tuple[int, ...]
    total: float
    dtype: str = "float32"
    every: int = 1
    writable: bool = True

    @property
    def idle(self) -> bool:
        """Is there nothing to be done?"""
        return abs(self.total - 1) <= CLOSE


SOME_WEIGHTS = (
    Weights("four weights of a quarter", (4,), 1.0),
    Weights("weights whose sum is 2.5", (1000,), 2.5),
    Weights("a matrix of float64 that can only be read, with the sum 7", (40, 50), 7.0, "float64", writable=False),
    Weights("weights whose sum is 1.000003", (1000,), 1.000003, writable=False),
    Weights("every other column of a matrix, with the sum 1", (40, 50), 1.0, every=2, writable=False),
    Weights("weights whose sum is 0.9993", (1000,), 0.9993, "float64"),
    Weights("weights whose sum is 0.999992", (1000,), 0.999992, "float64", writable=False),
    Weights("weights whose sum is 1.00003", (1000,), 1.00003, "float64"),
)


def run(function, cases: list[tuple], numpy_is_here) -> list:
    """What the function made of each case's weights: (path, dtype, shape, read from every n-th column, writable).
    Where it raises something, the traceback stands, and that is the last one.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    import traceback

    told: list = []
    for case in cases:
        try:
            told.append(normalised(function, *case))
        except Exception:
            return [*told, traceback.format_exc()]
    return told


def normalised(function, path: str, dtype: str, shape: tuple, every: int, writable: bool) -> dict:
    """Type, dtype and shape of the result, or of what its Cow holds; is it the same memory, were the weights changed,
    what is the result's sum, and are the parts in proportion? Looked at a piece at a time, so that looking takes no
    memory that counts.

    The weights lie in a private map, so that a write into them can be seen: the file still has what was there.
    """
    import mmap
    import sys

    import numpy as np

    def mapped(access):
        with open(path, "rb") as file:
            whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), dtype)
        return whole.reshape(*shape[:-1], shape[-1] * every)[..., ::every]

    weights, kept = mapped(mmap.ACCESS_COPY if writable else mmap.ACCESS_READ), mapped(mmap.ACCESS_READ)
    value = function(weights)
    cow = sys.modules.get("helpers.ideas.cow")  # it is there if the function has used it
    if cow and isinstance(value, cow.Cow):
        value = value.value
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "same": False, "sum": None, "even": False}
    step = max(1, 2**14 // kept[0].size)
    pieces = [slice(at, at + step) for at in range(0, len(kept), step)]
    told["changed"] = not all(np.array_equal(weights[piece], kept[piece]) for piece in pieces)
    if isinstance(value, np.ndarray):
        told |= {"dtype": str(value.dtype), "shape": value.shape}
        told["same"] = value.__array_interface__["data"][0] == weights.__array_interface__["data"][0]
        told["sum"] = float(value.sum(dtype="f8"))
        if value.shape == kept.shape:
            ratio = told["sum"] / float(kept.sum(dtype="f8"))
            told["even"] = all(np.allclose(value[piece], kept[piece] * ratio, rtol=1e-4) for piece in pieces)
    return told


def judge(attempt: Attempt) -> Verdict:
    """Weights of all kinds; then many, whose memory is measured: with nothing to be done, and with something."""
    asked(attempt, SOME_WEIGHTS)
    many = (attempt.size // 4 + secrets.randbelow(KiB),)
    seen = asked(attempt, [Weights("many weights whose sum is 1", many, 1.000003, writable=False)])
    done = "Where nothing was to be done, the same memory came back"
    what = "Adding up numbers takes no second array. What makes one, only to look at them?"
    idle = lean(seen, int(IDLE * 4 * many[0]), done, what)
    seen = asked(attempt, [Weights("many weights whose sum is 3", many, 3.0)])
    what = "One array is needed: the one that you return. Which other is there at the same time?"
    busy = lean(seen, int(ONE_COPY * 4 * many[0]), "All weights came back divided by their sum", what)
    figures = tuple(f"{kind}: {one.figures[0]}" for kind, one in (("sum 1", idle), ("sum 3", busy)) if one.figures)
    return right(f"{busy.because} Where the sum was 1 already, nothing was copied.", figures)


def lean(seen: Recording, budget: int, done: str, ask: str) -> Verdict:
    """`within`, with a question at the end of its NotYet."""
    try:
        return within(seen, budget, done)
    except NotYet as slip:
        raise NotYet(slip.cause, f"{slip.because} {ask}", slip.figures) from None


def asked(attempt: Attempt, kinds: Sequence[Weights]) -> Recording:
    """Asks the function about all of these, in one fresh process; NotYet if it was stopped or wrong."""
    cases = []
    for at, kind in enumerate(kinds):
        path = attempt.folder / f"weights-{at}.bin"
        parts = np.random.default_rng(secrets.randbelow(2**32)).integers(1, 256, kind.shape, "u1")
        if parts.size == 4:
            parts[:] = 1  # so that their sum is exactly the total
        stored = np.full((*kind.shape[:-1], kind.shape[-1] * kind.every), 9, kind.dtype)
        stored[..., :: kind.every] = parts * stored.dtype.type(kind.total / parts.sum())
        stored.tofile(path)
        cases.append((str(path), kind.dtype, kind.shape, kind.every, kind.writable))
    bytes_of_all = sum(prod(kind.shape) * 8 for kind in kinds)
    seen = attempt.run(run, cases, np.float64(1), memory_limit=4 * bytes_of_all + 64 * MiB)
    for kind, told in zip(kinds, seen.value, strict=False):
        try:
            if isinstance(told, str):
                attempt.returned(replace(seen, ended="raised", error=told))
            must_be_normalised(told, kind)
        except NotYet as slip:
            lent = (
                ". They lie in a map that can only be read, and the one who lent them wants to keep them as they are."
            )
            read_only = isinstance(told, str) and "read-only" in told
            raise NotYet(slip.cause, f"for {kind.name}: {slip.because}{lent if read_only else ''}") from None
    return seen


def must_be_normalised(told: dict, kind: Weights) -> None:
    """NotYet says what the slip was, as far as it shows."""
    if told["changed"]:
        why = "the array that was given has changed. It is not yours: write into an array of your own."
        raise NotYet("changed-input", why)
    if told["dtype"] is None:
        raise NotYet("no-array", f"it returned {called(told['type'])}, and not an array.")
    if told["dtype"] != kind.dtype:
        advice = (
            " A sum made with `dtype` float64 is a scalar of numpy's. It has a dtype, which makes the quotient float64 "
            "as well; `float(…)` makes a number that has none."
            if told["dtype"] == "float64"
            else ""
        )
        raise NotYet("wrong-dtype", f"the weights are `{kind.dtype}`, and you returned `{told['dtype']}`.{advice}")
    if told["shape"] != kind.shape:
        raise NotYet("wrong-shape", f"expected the shape {kind.shape}, got {told['shape']}.")
    if kind.idle and not told["same"]:
        if kind.total == 1:
            why = (
                "their sum is 1, and yet you returned another array. Look first, and copy only if you must. (To add "
                "numbers up, and to return them, they need not lie side by side in memory.)"
            )
            raise NotYet("needless-copy", why)
        why = (
            "you returned another array. In floating point a sum is seldom exactly 1: what is no further from it than "
            f"{CLOSE:.5f} counts as 1."
        )
        raise NotYet("exactly-one", why)
    if not kind.idle and told["same"]:
        why = f"you returned them as they are, but their sum is {kind.total:g}, which is not 1."
        raise NotYet("not-done", why)
    if not abs(told["sum"] - 1) <= 2 * CLOSE:  # not a number is wrong as well
        raise NotYet("wrong-sum", f"expected weights with the sum 1, got the sum {told['sum']:g}.")
    if not told["even"]:
        why = "the sum is 1, but the weights are not in proportion. Divide all of them by the same number."
        raise NotYet("out-of-proportion", why)
