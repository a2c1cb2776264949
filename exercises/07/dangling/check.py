"""07.dangling: the layer, not copied but counted by its mapping, and nothing left when it's
gone.
"""

import secrets

import numpy as np

from helpers.measure import Recording
from helpers.owners import is_mapped_at
from helpers.teach.inside import is_mapped, open_files
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, called, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB
COPY = (
    "the numbers are right, but they're a copy: there's no mapping of the file behind your array."
)
KEPT = (
    "the array is gone, but the file is still mapped. Only the array itself should keep its "
    "mapping."
)
CLOSED = {
    CRASH: (
        "closed",
        (
            "reading the array crashed its process: nothing is mapped any more at the addresses "
            "that the array shows. Who closed the mapping, and why did nobody object?"
        ),
    ),
    "exported pointers exist": (
        "close-refused",
        (
            "it raised BufferError: cannot close exported pointers exist. That's a step forward: "
            "your array is counted now, so the mapping refuses to close. Who wants to close it "
            "while the array is still needed?"
        ),
    ),
}


def run(function, path, offset: int, count: int, numpy_is_here) -> dict:
    """What the function returned, as seen when every other name is gone: type, dtype, shape, a
    digest of its bytes, and whether they lie in a mapping of the file (None where there is no
    /proc).

    Then it closes the mapping behind the array: `counted` tells whether that was refused, None if
    no mapping was found. Last, the array goes too: `mapped` tells whether the file is still mapped,
    `files` how many more are open. Loading the last argument, a numpy number, has loaded numpy.
    """
    import gc
    import mmap
    import time

    import numpy as np

    before = open_files()
    given = function(path, offset, count)
    if not isinstance(given, np.ndarray):
        return {"array": False, "type": type(given).__name__}
    gc.collect()
    array = np.ndarray.view(given, np.ndarray)  # a subclass has no say
    told = {"array": True, "dtype": str(array.dtype), "shape": array.shape, "counted": None}
    if array.shape != (count,):
        return told
    at = array.__array_interface__["data"][0]
    told |= {"digest": digest(array), "lent": is_mapped_at(path, at)}
    time.sleep(0.25)  # for the sampler, which looks from outside
    owner = next((obj for obj in gc.get_objects() if spans(obj, at)), None)
    if owner is not None:
        try:
            mmap.mmap.close(owner)  # not a subclass's close
            told["counted"] = False  # from here on nobody may read the array
        except BufferError:
            told["counted"] = True
    del array, given, owner
    gc.collect()
    return told | {
        "mapped": is_mapped(path),
        "files": None if before is None else open_files() - before,
    }


def digest(array) -> int:
    """CRC-32 of the bytes, a piece at a time, so that looking takes no memory that counts."""
    import zlib

    found = 0
    for at in range(0, array.size, 2**14):
        found = zlib.crc32(array[at : at + 2**14].tobytes(), found)
    return found


def spans(obj, address: int) -> bool:
    """Is it an open mapping over this address? It asks by address because not every array leads to
    its owner.
    """
    import mmap

    import numpy as np

    if not issubclass(type(obj), mmap.mmap):
        return False
    try:
        return 0 <= address - np.frombuffer(obj, "u1").__array_interface__["data"][0] < len(obj)
    except ValueError:  # it is closed
        return False


def judge(attempt: Attempt) -> Verdict:
    data = np.random.default_rng(secrets.randbelow(2**32)).random(attempt.size // 4, np.float32)
    path = attempt.folder / "weights.bin"
    data.tofile(path)
    attempt.hand_out(path)
    offset, count = 4 * (16 * KiB + secrets.randbelow(8 * KiB)), data.size // 2
    limit = 4 * data.nbytes + 64 * MiB
    seen = attempt.run(run, path, offset, count, np.float64(1), memory_limit=limit, means=CLOSED)
    must_be_the_layer(seen.value, data[offset // 4 :][:count])
    must_be_safe(seen.value)
    if seen.file is not None:
        must_be_seen(seen, 4 * count)
    return within(
        seen,
        BUDGET,
        "The layer is safe: it keeps its mapping, is counted by it, and leaves nothing behind",
    )


def must_be_the_layer(told: dict, wanted: np.ndarray) -> None:
    if not told["array"]:
        raise NotYet("no-array", f"expected a numpy array, got {called(told['type'])}.")
    if (told["dtype"], told["shape"]) != ("float32", wanted.shape):
        why = (
            f"expected float32 of shape {wanted.shape}, got {told['dtype']} of shape "
            f"{told['shape']}."
        )
        raise NotYet("wrong-shape", why)
    if told["digest"] != digest(wanted):
        why = (
            "your array doesn't have the layer's numbers. `offset` counts bytes from the beginning "
            "of the file."
        )
        raise NotYet("wrong-numbers", why)


def must_be_safe(told: dict) -> None:
    if not told["lent"] and (told["lent"] is False or told["counted"] is None):
        raise NotYet("copy", COPY)
    if told["counted"] is False:
        why = (
            "the numbers are right, but the mapping doesn't know about your array. It let itself "
            "be closed, and the next read would have crashed. `np.ndarray(…, buffer)` and "
            "`np.memmap` take an address and aren't counted. Which numpy function makes an array "
            "that is?"
        )
        raise NotYet("not-counted", why)
    if told["mapped"]:
        raise NotYet("kept-for-ever", KEPT)
    if told["files"]:
        why = (
            "the array is gone, but a file is still open. A mapping needs no open file: close it "
            "once it's mapped."
        )
        raise NotYet("file-open", why)


def must_be_seen(seen: Recording, layer: int) -> None:
    """Raises NotYet unless, seen from outside, the layer's bytes were file-backed memory, and no
    longer at the end.
    """
    if seen.peak.file < 0.9 * layer:
        raise NotYet("copy", COPY)
    if seen.peak.file - seen.file[-1] < 0.5 * layer:
        raise NotYet("kept-for-ever", KEPT)
