"""05.normalise: the very same memory where the sum is 1 already, else a new array, and never a second one."""

import secrets
from dataclasses import dataclass
from math import prod

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right, within
from helpers.units import KiB, MiB

CLOSE = 1e-5  # a sum no further from 1 than this counts as 1


@dataclass(frozen=True)
class Weights:
    """Positive weights with the sum `total`. Where `every` is n they are every n-th column of a matrix in a file."""

    name: str
    shape: tuple[int, ...]
    total: float
    dtype: str = "float32"
    every: int = 1
    writable: bool = True


SOME_WEIGHTS = (
    Weights("four weights of a quarter", (4,), 1.0),
    Weights("weights whose sum is 2.5", (1000,), 2.5),
    Weights("a read-only matrix of float64 with the sum 7", (40, 50), 7.0, "float64", writable=False),
    Weights("weights whose sum is 1.000003", (1000,), 1.000003, writable=False),
    Weights("every other column of a matrix, with the sum 1", (40, 50), 1.0, every=2, writable=False),
    Weights("weights whose sum is 0.9993", (1000,), 0.9993, "float64"),
    Weights("weights whose sum is 0.999992", (1000,), 0.999992, "float64", writable=False),
    Weights("weights whose sum is 1.00003", (1000,), 1.00003, "float64"),
)


def run(function, cases: list[tuple], numpy_is_here) -> list[dict]:
    """What the function made of each case's weights. The last argument, a number of numpy's, has loaded numpy."""
    return [normalised(function, *case) for case in cases]


def normalised(function, path: str, dtype: str, shape: tuple, every: int, writable: bool) -> dict:
    """The result, or what its Cow holds, looked at a piece at a time, so that looking takes no memory that counts.

    The weights lie in a private map, so that a write to them can be seen: the file still has what was there.
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
    step = max(1, 2**14 // kept[0].size)
    pieces = [slice(at, at + step) for at in range(0, len(kept), step)]
    told = {"type": type(value).__name__, "array": isinstance(value, np.ndarray)}
    told["changed"] = not all(np.array_equal(weights[piece], kept[piece]) for piece in pieces)
    if told["array"]:
        total = float(kept.sum(dtype="f8"))
        told |= {"dtype": str(value.dtype), "shape": value.shape, "sum": float(value.sum(dtype="f8"))}
        told["same"] = value.__array_interface__["data"][0] == weights.__array_interface__["data"][0]
        told["divided"] = value.shape == kept.shape and all(
            np.allclose(value[piece], kept[piece] / total, rtol=2e-5, atol=0) for piece in pieces
        )
    return told


def judge(attempt: Attempt) -> Verdict:
    """Weights of all kinds; then many, whose memory is measured: with nothing to be done, and with something."""
    asked(attempt, *SOME_WEIGHTS)
    count = attempt.size // 4 + secrets.randbelow(KiB)
    idle = asked(attempt, Weights("many weights whose sum is 1", (count,), 1.000003, writable=False))
    idle = within(idle, int(0.05 * 4 * count), "Where nothing was to be done, the same memory came back")
    busy = asked(attempt, Weights("many weights whose sum is 3", (count,), 3.0))
    busy = within(busy, int(1.1 * 4 * count), "All weights came back divided by their sum")
    return right(f"{busy.because} Where the sum was 1 already, nothing was copied.", busy.figures)


def asked(attempt: Attempt, *kinds: Weights) -> Recording:
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
    most = 4 * sum(prod(kind.shape) * 8 for kind in kinds) + 64 * MiB
    why = "it wrote to weights that are read-only. They belong to the caller: write to an array of your own."
    seen = attempt.run(run, cases, np.float64(1), memory_limit=most, means={"read-only": ("changed-input", why)})
    for kind, told in zip(kinds, seen.value, strict=True):
        must_be_normalised(told, kind)
    return seen


def must_be_normalised(told: dict, kind: Weights) -> None:
    """NotYet says what the slip was, as far as it shows."""
    begin, counts_as_1 = f"for {kind.name}:", abs(kind.total - 1) <= CLOSE
    if told["changed"]:
        why = "the array that was given has changed. It belongs to the caller: write to an array of your own."
        raise NotYet("changed-input", f"{begin} {why}")
    if not told["array"]:
        raise NotYet("no-array", f"{begin} expected an array or a `Cow`, got {called(told['type'])}.")
    if (told["dtype"], told["shape"]) != (kind.dtype, kind.shape):
        why = f"expected {kind.dtype} in the shape {kind.shape}, got {told['dtype']} in the shape {told['shape']}."
        if told["dtype"] == "float64" != kind.dtype:
            why += " A float64 scalar of numpy's makes the quotient float64; a Python `float` does not."
        raise NotYet("wrong-dtype", f"{begin} {why}")
    if told["same"] != counts_as_1:
        if counts_as_1:
            why = f"you returned another array. A sum no further from 1 than {CLOSE:.5f} counts as 1: look first."
            raise NotYet("needless-copy", f"{begin} {why}")
        raise NotYet("not-done", f"{begin} you returned them as they are, but {kind.total:g} does not count as 1.")
    if not told["divided"]:
        why = f"expected each weight divided by the sum, got weights with the sum {told['sum']:g}."
        raise NotYet("other-weights", f"{begin} {why}")
