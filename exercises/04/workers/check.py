"""04.workers: four workers have the whole array, and together they take at most 1.1 times its
size.
"""

import os
import secrets
from pathlib import Path

import numpy as np

from helpers.measure import maps
from helpers.owners import mapping_under
from helpers.teach.inside import some
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

COUNT, SHARE = 4, 1.1
HEADER = "The numbers begin after the file's header, at byte 128."
OWN = (
    "the array is right, but each worker has its own copy. Where do all processes find the same "
    "bytes?"
)
_kept: list = []


def run(function, path: Path) -> dict:
    """What the function returned, as its own process sees it. It's kept, so that others can see
    what it costs.

    Calls no method of a class that the student wrote: it could say anything.
    """
    import numpy as np

    value = function(path)
    _kept.append(value)
    if not issubclass(type(value), np.ndarray):
        return {"type": type(value).__name__, "dtype": None}
    array = np.ndarray.view(value, np.ndarray)
    told = {
        "dtype": str(array.dtype),
        "shape": array.shape,
        "mapped": mapping_under(array) is not None,
    }
    numbers = array.dtype.kind in "iufb" and array.ndim == 1
    return told | {"numbers": [float(array.sum()), *some(array)] if numbers else []}


def judge(attempt: Attempt) -> Verdict:
    path, data = numbers(attempt)
    size, written = data.nbytes, path.stat().st_mtime_ns
    told = attempt.run(run, path, memory_limit=4 * size + 64 * MiB, modules=["numpy"]).value
    the_array(told, data)
    if without := maps.why_not():
        if not told["mapped"]:
            raise NotYet("own-copy", OWN)
        done = (
            "The array is right, and it's mapped. What workers share, and so the budget, can't be "
            "checked here"
        )
        return right(f"{done}: {without}", (f"{data.size:,} numbers",))
    crowd = attempt.workers(run, path, count=COUNT, modules=["numpy"])
    if path.stat().st_mtime_ns != written:
        why = (
            "the file was written to, even if its bytes are the same. Open it so that the workers "
            "can't write to it."
        )
        raise NotYet("source-changed", why)
    for row in crowd.rows:
        if row.ended != "returned":
            raise NotYet(
                "not-at-once",
                f"a single worker returned, but with {COUNT} at once, {row.name} didn't "
                f"({row.ended}).",
            )
        the_array(row.value, data)
    pss, anonymous = crowd.total("pss"), crowd.total("anonymous")
    figures = (
        (
            f"{COUNT} workers: {in_words(pss, 'bytes')} of PSS together (budget "
            f"{in_words(SHARE * size, 'bytes')})"
        ),
        f"{in_words(crowd.total('rss'), 'bytes')} of RSS",
        f"{in_words(anonymous, 'bytes')} anonymous",
    )
    if pss < size / 2:
        why = (
            "Its pages aren't there, or other processes have them too, and their share isn't "
            "counted."
        )
        raise NotYet(
            "elsewhere",
            f"the array is right, but its PSS is {in_words(pss, 'bytes')}. {why}",
            figures,
        )
    # pages that a worker has forked count in its `anonymous`, in full
    if max(pss, anonymous) <= SHARE * size:
        done = (
            f"{COUNT} workers have the whole array, and together they take {pss / size:.3g} times "
            "its size."
        )
        return right(done, figures)
    if not told["mapped"]:
        raise NotYet("own-copy", OWN, figures)
    why = (
        f"the array is right and mapped, but {in_words(anonymous, 'bytes')} of the workers' memory "
        "is anonymous. Something writes to the array, and every page written to is copied, even "
        "if its bytes stay the same."
    )
    raise NotYet("copied-on-write", why, figures)


def numbers(attempt: Attempt) -> tuple[Path, np.ndarray]:
    """A .npy file that the student's code hasn't seen. Its numbers are multiples of 1/256, so their
    sum is exact.
    """
    count = attempt.size // 8 + secrets.randbelow(64 * KiB)
    data = np.random.default_rng(secrets.randbelow(2**32)).integers(0, 256, count) / 256
    path = attempt.folder / "weights.npy"
    with path.open("wb") as file:
        np.save(file, data)
        file.flush()
        os.fsync(file.fileno())  # pages of a file just written are dirty, whoever maps them
    attempt.hand_out(path)
    return path, data


def the_array(told: dict, data: np.ndarray) -> None:
    """Raises NotYet if it isn't the file's array, and says what it is."""
    if told["dtype"] is None:
        raise NotYet(
            "no-array", f"it returned {called(told['type'])}. The workers need the array itself."
        )
    if told["dtype"] != "float64":
        why = (
            f"the numbers in the file are `float64`, yours are `{told['dtype']}`. A conversion "
            "copies all of them."
        )
        raise NotYet("wrong-dtype", why)
    if told["shape"] != data.shape:
        raise NotYet(
            "wrong-shape",
            f"expected an array of shape {data.shape}, got {told['shape']}. {HEADER}",
        )
    if told["numbers"] != [float(data.sum()), *some(data)]:
        raise NotYet(
            "other-numbers", f"the array has the right shape, but not the file's numbers. {HEADER}"
        )
