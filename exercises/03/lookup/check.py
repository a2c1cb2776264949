"""03.lookup: the right bytes, and from a cold file at most 1.5 times the pages that hold them."""

import mmap
import secrets
from pathlib import Path

import numpy as np

from helpers.make import random_file
from helpers.measure import Recording, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, called, is_cold, right
from helpers.units import MiB, in_words

PAGE = mmap.PAGESIZE
POSITIONS = 256
ROOM = 1.5  # times the pages that hold these bytes


def run(function, path, positions: list[int], numpy_is_here) -> bytes | str:
    """What the function returns. Bytes go back as they are, anything else as the name of its type.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    value = function(path, positions)
    return value if type(value) is bytes else type(value).__name__


def judge(attempt: Attempt) -> Verdict:
    source = random_file(attempt.folder / "source.bin", attempt.size, seed=secrets.randbelow(2**32))
    positions = [secrets.randbelow(attempt.size) for _ in range(POSITIONS)]
    needed = PAGE * len({at // PAGE for at in positions})
    limit, numpy_is_here = 4 * attempt.size + 64 * MiB, np.int64(0)
    warm = attempt.run(run, source, positions, numpy_is_here, memory_limit=limit)
    the_right_bytes(warm.value, source, positions)
    if why_not := no_device_meter(source, positions, needed):
        done = f"These are the bytes. What came from the disk cannot be judged here: {why_not}."
        return right(done, (in_words(warm.wall, "seconds"),))
    is_cold(source)
    cold = attempt.run(run, source, positions, numpy_is_here, memory_limit=limit)
    return within_pages(cold, int(ROOM * needed))


def the_right_bytes(found: bytes | str, source: Path, positions: list[int]) -> None:
    """NotYet if these are not the bytes at the positions."""
    if not isinstance(found, bytes):
        raise NotYet("other-type", f"it returned {called(found)}. Return `bytes`, one for each position.")
    content = np.memmap(source, np.uint8, "r")
    wanted = content[positions].tobytes()
    if found == wanted:
        return
    if found == content[sorted(positions)].tobytes():
        why = "these are the bytes in the order of the file. Give them in the order of the positions."
        raise NotYet("order-of-the-file", why)
    wrong = sum(one != other for one, other in zip(found, wanted, strict=False))
    why = f"expected {len(wanted)} bytes, got {len(found)}; {wrong} of them are not the ones at their positions."
    raise NotYet("other-bytes", why)


def within_pages(run: Recording, budget: int) -> Verdict:
    """NotYet says who asked for the rest, if more than `budget` bytes came from the disk."""
    came, asked = run.io.device_read_bytes, run.io.read_bytes
    from_disk, allowed = in_words(came, "bytes"), in_words(budget, "bytes")
    figures = (
        f"{from_disk} from the disk (budget {allowed})",
        f"{in_words(asked, 'bytes')} by read calls",
        f"{run.faults.major:,} major faults",
    )
    if came <= budget:
        return right(f"{from_disk} came from the disk, about one page per byte.", figures)
    begin = f"the bytes are right, but {from_disk} came from the disk for {POSITIONS} bytes; the budget is {allowed}."
    if asked > POSITIONS * PAGE / 2:
        why = (
            f"Your calls read {in_words(asked, 'bytes')}, where one byte at each position would do. If your code "
            "didn't ask for that much, Python did: a buffered file always fills its buffer."
        )
        raise NotYet("large-reads", f"{begin} {why}", figures)
    why = (
        "Your code didn't ask for that much: around each missing page the kernel read ahead. It can't know that you "
        "don't want the neighbours. Tell it, before the first touch."
    )
    raise NotYet("read-ahead", f"{begin} {why}", figures)


def no_device_meter(source: Path, positions: list[int], needed: int) -> str | None:
    """None if a cold file can be made here, and one page for a byte is what a careful program reads; else why not."""
    if not is_cold(source):
        return "the file could not be dropped from the page cache"
    came = measure(carefully, str(source), positions).io.device_read_bytes
    if came is None or not 0.9 * needed <= came <= (1 + ROOM) / 2 * needed:
        return f"where a careful program needs {in_words(needed, 'bytes')}, the counter says {in_words(came, 'bytes')}"
    return None


def carefully(path: str, positions: list[int]) -> None:
    """Touches these bytes in a mapping for which the kernel does not read ahead."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        mapping.madvise(mmap.MADV_RANDOM)
        sum(mapping[at] for at in positions)
