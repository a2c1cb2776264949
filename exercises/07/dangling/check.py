"""07.dangling: the layer, not copied, counted by its mapping, and nothing left when it is gone."""

import secrets

import numpy as np

from helpers.owners import mapping_under
from helpers.teach.inside import open_files, some
from helpers.teach.judging import CRASHED, Attempt, NotYet, Verdict, called, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB


def run(function, path, offset: int, count: int, numpy_is_here) -> dict:
    """What the function returned, as seen when every other name is gone: type, dtype, shape, sum, up to 64 numbers.

    Then somebody closes the mapping behind it: `counted` tells whether that was refused, None if no mapping was found.
    At last the array goes, too: `mapped` tells whether the file is still mapped, `files` how many more are open; None
    where proc_pid_maps(5) is not there. Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import gc

    before = open_files()
    array = function(path, offset, count)
    told = {"type": type(array).__name__, "dtype": None, "counted": None, "mapped": None, "files": None}
    if not (hasattr(array, "dtype") and hasattr(array, "ravel")):
        return told
    gc.collect()
    told |= {"dtype": str(array.dtype), "shape": tuple(array.shape), "sum": float(array.sum(dtype="f8"))}
    told["some"] = some(array)
    owner = mapping_under(array)
    if owner is not None:
        try:
            owner.close()
            told["counted"] = False  # from here on the array must not be read
        except BufferError:
            told["counted"] = True
    del array, owner
    gc.collect()
    if before is not None:
        with open("/proc/self/maps") as file:
            told["mapped"] = any(path in line for line in file)
        told["files"] = open_files() - before
    return told


def judge(attempt: Attempt) -> Verdict:
    # Multiples of 1/256 from 0 to 1: their sum is exact.
    data = np.random.default_rng(secrets.randbelow(2**32)).integers(0, 256, attempt.size // 4, np.uint8)
    data = data.astype("f4") / np.float32(256)
    path = attempt.folder / "weights.bin"
    data.tofile(path)
    offset, count = 4 * (16 * KiB + secrets.randbelow(8 * KiB)), data.size // 2
    try:
        limit = 4 * data.nbytes + 64 * MiB
        seen = attempt.run(run, str(path), offset, count, np.float64(1), memory_limit=limit)
    except NotYet:
        refuse_ending(attempt.recording.ended, attempt.recording.error or "")
        raise
    must_be_the_layer(seen.value, data, offset, data[offset // 4 :][:count])
    must_be_safe(seen.value)
    return within(seen, BUDGET, "The layer is safe: it keeps its mapping, is counted by it, and leaves nothing behind")


def refuse_ending(ended: str, error: str) -> None:
    """NotYet if the mapping was closed, with or without an objection."""
    if ended in CRASHED:
        why = (
            f"when the array was read, its process was ended ({ended}): at the addresses that it shows nothing is "
            "mapped any more. Who closed the mapping? And why did nobody object?"
        )
        raise NotYet("closed", why)
    if "exported pointers exist" in error:
        why = (
            "it raised BufferError: cannot close exported pointers exist. That is a step forward: your array is "
            "counted now, so the mapping refuses to close. Who wants to close it while the array is still needed?"
        )
        raise NotYet("close-refused", why)


def must_be_the_layer(told: dict, data: np.ndarray, offset: int, wanted: np.ndarray) -> None:
    if told["dtype"] is None:
        raise NotYet("no-array", f"it returned {called(told['type'])}. The caller wants an array of numpy's.")
    if (told["dtype"], told["shape"]) != ("float32", wanted.shape):
        why = f"expected float32 and the shape {wanted.shape}, got {told['dtype']} and {told['shape']}."
        raise NotYet("wrong-shape", why)
    if told["sum"] == float(wanted.sum(dtype="f8")) and told["some"] == some(wanted):
        return
    where = {
        "It begins at the file's first byte, and not at `offset`.": data,
        "It begins four times too far on: `offset` counts bytes, and a float32 has four of them.": data[offset:],
    }
    known = next((what for what, other in where.items() if told["some"] == some(other[: wanted.size])), "")
    raise NotYet("wrong-numbers", f"your array doesn't have the layer's numbers. {known}".strip())


def must_be_safe(told: dict) -> None:
    if told["counted"] is None:
        raise NotYet(
            "copy", "the numbers are right, but behind your array there is no mapping: it is a copy of the layer."
        )
    if not told["counted"]:
        why = (
            "the numbers are right, but the mapping doesn't know of your array. It was closed, nothing was refused, "
            "and the next read would have crashed. `np.ndarray(…, buffer)` and `np.memmap` take an address and are "
            "not counted. Which of numpy's functions makes an array that is?"
        )
        raise NotYet("not-counted", why)
    if told["mapped"]:
        why = (
            "the array is safe, but when it was gone the file was still mapped: something of yours keeps it for ever. "
            "The array itself should keep its mapping, and nothing else."
        )
        raise NotYet("kept-for-ever", why)
    if told["files"]:
        why = (
            "the array is safe, but when it was gone a file descriptor was still open. A mapping has one of its own: "
            "close yours as soon as the file is mapped."
        )
        raise NotYet("file-open", why)
