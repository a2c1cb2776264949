"""03.lookup: the right bytes, with at most 1.5 times the pages that hold them read from a cold
file.
"""

import mmap
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.measure import Recording, measure, page_cache
from helpers.teach.inside import kind_of
from helpers.teach.judging import Attempt, NotYet, Verdict, called, is_cold, right
from helpers.units import MiB, in_words

ALONE = True  # it measures time
PAGE = mmap.PAGESIZE
POSITIONS = 256
ROOM = 1.5  # times the pages that hold these bytes
# at most, read from the disk to start an interpreter whose files are mostly in memory
STARTING = 4 * MiB


def run(function, path, positions: list[int]) -> bytes | str:
    """What the function returns: bytes as they are, anything else as the name of its type."""
    value = function(path, positions)
    return value if kind_of(value) == "bytes" else kind_of(value)


def judge(attempt: Attempt) -> Verdict:
    """First uses a small file, which brings the function's imports into memory, then a file it has
    never seen.
    """
    limit = 4 * attempt.size + 64 * MiB
    for name, size in (("small.bin", min(attempt.size, 8 * MiB)), ("large.bin", attempt.size)):
        source = attempt.random_file(name, size)
        positions = [secrets.randbelow(size) for _ in range(POSITIONS)]
        wanted = np.memmap(source, np.uint8, "r")[positions].tobytes()
        needed = PAGE * len({at // PAGE for at in positions})
        careful, _ = from_disk(source, measure, fetched, source, positions)
        came, seen = from_disk(
            source, attempt.measure, run, source, positions, memory_limit=limit, modules=["numpy"]
        )
        the_right_bytes(attempt.returned(seen).value, wanted, positions)
        attempt.unharmed()
    if None in (came, careful) or not 0.9 * needed <= careful <= (1 + ROOM) / 2 * needed:
        why = "the file could not be dropped from the page cache"
        if None not in (came, careful):
            why = (
                f"a careful program needs {in_words(needed, 'bytes')}, and the disk gave "
                f"{in_words(careful, 'bytes')}"
            )
        done = f"The bytes are right. What came from the disk can't be judged here: {why}."
        return right(done, (in_words(seen.wall, "seconds"),))
    return within_pages(seen, came, int(ROOM * needed))


def from_disk(
    source: Path, measured: Callable, *args: Any, **options: Any
) -> tuple[int | None, Recording]:
    """How many bytes the disk gave while `measured(*args)` ran with a cold file (None where no file
    gets cold, or nothing counts them), and its Recording.

    That's what the process says, unless the page cache now holds more of the file, whoever read it,
    or this process's own account, which includes its children and theirs, grew by more.
    """
    cold, before = is_cold(source), disk_gave()
    seen = measured(*args, **options)
    after, cached, own = disk_gave(), page_cache(source).count, seen.io.device_read_bytes or 0
    return (
        max(own, cached * PAGE, after - before - STARTING) if cold and after is not None else None
    ), seen


def disk_gave() -> int | None:
    """Bytes that this process and those it waited for read from the disk, proc_pid_io(5); None if
    not counted.
    """
    io = Path("/proc/self/io")
    return int(re.search(r"(?m)^read_bytes: (\d+)", io.read_text())[1]) if io.exists() else None


def the_right_bytes(found: bytes | str, wanted: bytes, positions: list[int]) -> None:
    """Raises NotYet if these aren't the bytes at the positions."""
    if not isinstance(found, bytes):
        raise NotYet(
            "other-type", f"it returned {called(found)}. Return `bytes`, one for each position."
        )
    if found == wanted:
        return
    if found == bytes(byte for _, byte in sorted(zip(positions, wanted, strict=True))):
        why = (
            "these are the right bytes, but in the order of the file. Return them in the order of "
            "the positions."
        )
        raise NotYet("order-of-the-file", why)
    wrong = sum(byte != other for byte, other in zip(found, wanted, strict=False))
    why = f"expected {len(wanted)} bytes, got {len(found)}; {wrong} of them are wrong."
    raise NotYet("other-bytes", why)


def within_pages(run: Recording, came: int, budget: int) -> Verdict:
    """Raises NotYet if more than `budget` bytes came from the disk, and says who asked for them."""
    asked = run.io.read_bytes or 0
    from_disk, allowed = in_words(came, "bytes"), in_words(budget, "bytes")
    figures = (
        f"{from_disk} from the disk (budget {allowed})",
        f"{in_words(asked, 'bytes')} by read calls",
        f"{run.faults.major or 0:,} major faults",
    )
    if came <= budget:
        return right(f"{from_disk} came from the disk, about one page per byte.", figures)
    begin = (
        f"the bytes are right, but {from_disk} came from the disk for {POSITIONS} bytes; the "
        f"budget is {allowed}."
    )
    if asked > POSITIONS * PAGE / 2:
        why = (
            f"Your calls read {in_words(asked, 'bytes')}, where one byte at each position would "
            "do. If your code didn't ask for that much, Python did: a buffered file always fills "
            "its buffer."
        )
        raise NotYet("large-reads", f"{begin} {why}", figures)
    why = (
        "Your code didn't ask for that much: the kernel read ahead around each missing page. It "
        "can't know that you don't want the neighbours. Tell it, before the first touch."
    )
    raise NotYet("read-ahead", f"{begin} {why}", figures)


def fetched(path: Path, positions: list[int]) -> None:
    """Has the kernel fetch the pages of these bytes without touching them: posix_fadvise(2)."""
    import mmap
    import os

    with open(path, "rb") as file:
        for at in positions:
            os.posix_fadvise(
                file.fileno(), at - at % mmap.PAGESIZE, mmap.PAGESIZE, os.POSIX_FADV_WILLNEED
            )
