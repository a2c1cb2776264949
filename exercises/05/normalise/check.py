"""05.normalise: the very same memory if the sum is already 1, otherwise one new array and never a
second.
"""

import secrets
from dataclasses import dataclass
from math import prod

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right, within
from helpers.units import KiB, MiB

CALLERS = "It belongs to the caller: write to an array of your own."
CLOSE = 1e-5  # a sum no further from 1 than this counts as 1


@dataclass(frozen=True)
class Weights:
    """Positive weights with the sum `total`. If `every` is n, they're every n-th column of a matrix
    in a file.
    """

    name: str
    shape: tuple[int, ...]
    total: float
    dtype: str = "float32"
    every: int = 1
    writable: bool = True


SOME_WEIGHTS = (
    Weights("four weights of a quarter", (4,), 1.0),
    Weights("weights whose sum is 2.5", (1000,), 2.5),
    Weights("a read-only float64 matrix with the sum 7", (40, 50), 7.0, "float64", writable=False),
    Weights("weights whose sum is 1.000003", (1000,), 1.000003, writable=False),
    Weights(
        "every other column of a matrix, with the sum 1", (40, 50), 1.0, every=2, writable=False
    ),
    Weights("weights whose sum is 0.9993", (1000,), 0.9993, "float64"),
    Weights("weights whose sum is 0.9999901", (1000,), 0.9999901, "float64", writable=False),
    Weights("weights whose sum is 1.000011", (1000,), 1.000011, "float64"),
)


def run(function, cases: list[tuple], numpy_is_here) -> list[dict]:
    """What the function made of each case's weights. The last argument, a numpy number, has loaded
    numpy.
    """
    return [normalised(function, *case) for case in cases]


def normalised(function, path, dtype: str, shape: tuple, every: int, writable: bool) -> dict:
    """What the judge needs to know of the result, or of what its Cow holds: of many numbers, the
    sums of pieces, so that looking takes no memory that counts. The weights lie in a shared
    mapping: a write to them shows from outside.
    """
    import mmap
    import sys

    import numpy as np

    with open(path, "r+b" if writable else "rb") as file:
        whole = mmap.mmap(
            file.fileno(), 0, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        )
    weights = np.frombuffer(whole, dtype).reshape(*shape[:-1], shape[-1] * every)[..., ::every]
    value, owned = function(weights), False
    cow = sys.modules.get("helpers.ideas.cow")  # loaded if the function used it
    if cow and isinstance(value, cow.Cow):
        value, owned = value.value, not value.is_borrowed
    if not isinstance(value, np.ndarray):
        return {"array": False, "type": type(value).__name__}
    value = np.ndarray.view(value, np.ndarray)  # a subclass has no say
    same = value.__array_interface__["data"][0] == weights.__array_interface__["data"][0]
    told = {
        "array": True,
        "dtype": str(value.dtype),
        "shape": value.shape,
        "same": same,
        "owned": owned,
    }
    if value.shape == weights.shape:
        told["numbers"] = pieces(value) if value.ndim == 1 else value.copy()
    return told


def pieces(array):
    """The numbers if they're few, otherwise the sum of each thousand."""
    import numpy as np

    step = 1 if array.size <= 1000 else 1000
    return np.array([array[at : at + step].sum(dtype="f8") for at in range(0, array.size, step)])


def judge(attempt: Attempt) -> Verdict:
    """Asks about weights of all kinds, then measures the memory for many: with nothing to do, and
    with something.
    """
    asked(attempt, *SOME_WEIGHTS)
    count = attempt.size // 4 + secrets.randbelow(KiB)
    idle = asked(
        attempt, Weights("many weights whose sum is 1", (count,), 1.000003, writable=False)
    )
    idle = within(
        idle, int(0.05 * 4 * count), "Where there was nothing to do, the same memory came back"
    )
    busy = asked(attempt, Weights("many weights whose sum is 3", (count,), 3.0))
    busy = within(busy, int(1.1 * 4 * count), "All weights came back divided by their sum")
    return right(f"{busy.because} Where the sum was already 1, nothing was copied.", busy.figures)


def asked(attempt: Attempt, *kinds: Weights) -> Recording:
    """Asks the function about all of these in one fresh process. Raises NotYet if it was stopped or
    is wrong.
    """
    cases, given = [], []
    for at, kind in enumerate(kinds):
        path = attempt.folder / f"weights-{at}.bin"
        parts = np.random.default_rng(secrets.randbelow(2**32)).integers(1, 256, kind.shape, "u1")
        if parts.size == 4:
            parts[:] = 1  # so that their sum is exactly the total
        stored = np.full((*kind.shape[:-1], kind.shape[-1] * kind.every), 9, kind.dtype)
        stored[..., :: kind.every] = parts * stored.dtype.type(kind.total / parts.sum())
        stored.tofile(path)
        attempt.hand_out(path)
        given.append(stored[..., :: kind.every])
        cases.append((path, kind.dtype, kind.shape, kind.every, kind.writable))
    most = 4 * sum(prod(kind.shape) * 8 for kind in kinds) + 64 * MiB
    means = {"read-only": ("changed-input", f"it wrote to a read-only array. {CALLERS}")}
    try:
        seen = attempt.run(run, cases, np.float64(1), memory_limit=most, means=means)
    except NotYet as slip:
        if slip.cause == "source-changed":
            raise NotYet(
                "changed-input", f"the array you were given has changed. {CALLERS}"
            ) from None
        raise
    for told, kind, weights in zip(seen.value, kinds, given, strict=True):
        must_be_normalised(told, kind, weights)
    return seen


def must_be_normalised(told: dict, kind: Weights, weights: np.ndarray) -> None:
    """Raises NotYet if it isn't normalised, and names the slip as far as it shows."""
    begin, counts_as_1 = f"for {kind.name}:", abs(kind.total - 1) <= CLOSE
    if not told["array"]:
        raise NotYet(
            "no-array", f"{begin} expected an array or a `Cow`, got {called(told['type'])}."
        )
    if (told["dtype"], told["shape"]) != (kind.dtype, kind.shape):
        why = (
            f"expected {kind.dtype} of shape {kind.shape}, got {told['dtype']} of shape "
            f"{told['shape']}."
        )
        if told["dtype"] == "float64" != kind.dtype:
            why += (
                " Dividing by a numpy float64 makes the quotient float64; dividing by a Python "
                "`float` doesn't."
            )
        raise NotYet("wrong-dtype", f"{begin} {why}")
    if told["same"] != counts_as_1:
        if counts_as_1:
            why = (
                f"you returned another array. A sum no further from 1 than {CLOSE:.5f} counts as "
                "1: check first."
            )
            raise NotYet("needless-copy", f"{begin} {why}")
        raise NotYet(
            "not-done",
            f"{begin} you returned them unchanged, but {kind.total:.7g} doesn't count as 1.",
        )
    if told["same"] and told["owned"]:
        why = (
            "your Cow owns the caller's array, and `to_mut()` would write to it. Lend it with "
            "`Cow.borrowed`."
        )
        raise NotYet("owned-by-the-caller", f"{begin} {why}")
    wanted = weights / (1 if counts_as_1 else weights.sum(dtype="f8"))
    wanted = pieces(wanted) if wanted.ndim == 1 else wanted
    if not np.allclose(told["numbers"], wanted, rtol=2e-5, atol=0):
        why = (
            "expected each weight divided by the sum, got weights with the sum "
            f"{told['numbers'].sum():g}."
        )
        raise NotYet("other-weights", f"{begin} {why}")
