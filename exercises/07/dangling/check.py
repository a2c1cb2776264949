"""07.dangling: the layer, not copied, counted by its mapping, and nothing left when it is gone."""

import secrets

import numpy as np

from helpers.owners import mapping_under
from helpers.teach.inside import is_mapped, open_files, some
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, called, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB
CLOSED = {
    CRASH: (
        "closed",
        "reading the array ended its process: nothing is mapped any more at the addresses that the array shows. Who "
        "closed the mapping, and why did nobody object?",
    ),
    "exported pointers exist": (
        "close-refused",
        "it raised BufferError: cannot close exported pointers exist. That is a step forward: your array is counted "
        "now, so the mapping refuses to close. Who wants to close it while the array is still needed?",
    ),
}


def run(function, path, offset: int, count: int, numpy_is_here) -> dict:
    """What the function returned, as seen when every other name is gone: type, dtype, shape, sum, up to 64 numbers.

    Then somebody closes the mapping behind it: `counted` tells whether that was refused, None if no mapping was found.
    At last the array goes, too: `mapped` tells whether the file is still mapped, `files` how many more are open; None
    where /proc is not there. Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import gc

    before = open_files()
    array = function(path, offset, count)
    told = {"type": type(array).__name__, "array": hasattr(array, "dtype") and hasattr(array, "ravel")}
    if not told["array"]:
        return told
    gc.collect()
    told |= {"dtype": str(array.dtype), "shape": tuple(array.shape), "sum": float(array.sum(dtype="f8"))}
    told |= {"some": some(array), "counted": None}
    owner = mapping_under(array)
    if owner is not None:
        try:
            owner.close()
            told["counted"] = False  # from here on the array must not be read
        except BufferError:
            told["counted"] = True
    del array, owner
    gc.collect()
    return told | {"mapped": is_mapped(path), "files": None if before is None else open_files() - before}


def judge(attempt: Attempt) -> Verdict:
    # Multiples of 1/256 from 0 to 1: their sum is exact.
    data = np.random.default_rng(secrets.randbelow(2**32)).integers(0, 256, attempt.size // 4, np.uint8)
    data = data.astype("f4") / np.float32(256)
    path = attempt.folder / "weights.bin"
    data.tofile(path)
    offset, count = 4 * (16 * KiB + secrets.randbelow(8 * KiB)), data.size // 2
    limit = 4 * data.nbytes + 64 * MiB
    seen = attempt.run(run, str(path), offset, count, np.float64(1), memory_limit=limit, means=CLOSED)
    must_be_the_layer(seen.value, data[offset // 4 :][:count])
    must_be_safe(seen.value)
    return within(seen, BUDGET, "The layer is safe: it keeps its mapping, is counted by it, and leaves nothing behind")


def must_be_the_layer(told: dict, wanted: np.ndarray) -> None:
    if not told["array"]:
        raise NotYet("no-array", f"expected a numpy array, got {called(told['type'])}.")
    if (told["dtype"], told["shape"]) != ("float32", wanted.shape):
        why = f"expected float32 and the shape {wanted.shape}, got {told['dtype']} and {told['shape']}."
        raise NotYet("wrong-shape", why)
    if (told["sum"], told["some"]) != (float(wanted.sum(dtype="f8")), some(wanted)):
        why = "your array doesn't have the layer's numbers. `offset` counts bytes from the beginning of the file."
        raise NotYet("wrong-numbers", why)


def must_be_safe(told: dict) -> None:
    if told["counted"] is None:
        raise NotYet("copy", "the numbers are right, but they are a copy: there is no mapping behind your array.")
    if not told["counted"]:
        why = (
            "the numbers are right, but the mapping doesn't know of your array. Closing it was not refused, and the "
            "next read would have crashed. `np.ndarray(…, buffer)` and `np.memmap` take an address and are not "
            "counted. Which of numpy's functions makes an array that is?"
        )
        raise NotYet("not-counted", why)
    if told["mapped"]:
        why = "the array is gone, but the file is still mapped. Only the array itself should keep its mapping."
        raise NotYet("kept-for-ever", why)
    if told["files"]:
        why = "the array is gone, but a file is still open. A mapping needs no open file: close it once it is mapped."
        raise NotYet("file-open", why)
