"""03.window: the largest window sum of each of five files, with at most 16 MiB resident, lent or
owned.
"""

import secrets
from pathlib import Path

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

RESIDENT = 16 * MiB
LOW = b"\x64"  # not 0, so that adding up more than `width` bytes gives a larger sum
BETWEEN = (
    "A window may begin at any byte of a piece of the file, even its last, and end in the next "
    "piece."
)
MISSED = {  # where the largest window is, in the order of judging
    "start": ("at-the-edge", "The largest window begins at byte 0."),
    "middle": ("between-pieces", BETWEEN),
    "multiple": ("between-pieces", BETWEEN),
    "late": ("between-pieces", BETWEEN),
    "end": ("at-the-edge", "The largest window ends where the file ends."),
}


def run(function, paths: list[Path], width: int) -> list[int | str]:
    """What the function returns for each file: a whole number, capped at 2**63, or the name of any
    other type.
    """
    values = [function(path, width) for path in paths]
    whole = [
        hasattr(v, "__index__") and type(v) is not bool and not getattr(v, "ndim", 0)
        for v in values
    ]
    told = zip(values, whole, strict=True)
    return [
        max(-1, min(int(value), 2**63)) if is_whole else type(value).__name__
        for value, is_whole in told
    ]


def judge(attempt: Attempt) -> Verdict:
    width = 48 * KiB + 2 * secrets.randbelow(8 * KiB) + 1
    files = {where: with_largest(attempt, where, width) for where in MISSED}
    paths = [path for path, _ in files.values()]
    seen = attempt.run(
        run, paths, width, memory_limit=4 * attempt.size + 64 * MiB, modules=["numpy"]
    )
    for where, found in zip(files, seen.value, strict=True):
        the_largest(found, where, *files[where])
    return within_resident(seen, len(files))


def with_largest(attempt: Attempt, where: str, width: int) -> tuple[Path, int]:
    """A file of random bytes with its largest window at the place `where`, and that window's
    sum.
    """
    size = {"middle": attempt.size, "late": 8 * MiB, "multiple": 8 * MiB}.get(where, MiB)
    size += 1 + 2 * secrets.randbelow(KiB)
    path = attempt.random_file(f"{where}.bin", size)
    high = np.random.default_rng(secrets.randbelow(2**32)).integers(200, 256, width, np.uint8)
    high[:64] = high[-64:] = (
        255  # with LOW around it, no window that begins a bit earlier or later is as large
    )
    # A high power of two is a border between pieces of any such size, and 120 × width between
    # pieces of, say, 8 × width. The window has one byte past the border, or one before it, so
    # keeping one byte too few misses it.
    border = 1 << (size.bit_length() - 2)
    begin = {
        "start": 0,
        "middle": border - width + 1,
        "end": size - width,
        "late": border - 1,
        "multiple": 120 * width - 1,
    }[where]
    with path.open("r+b") as file:
        file.seek(max(0, begin - 64))
        file.write(LOW * min(begin, 64) + high.tobytes() + LOW * min(64, size - width - begin))
    attempt.hand_out(path)
    return path, int(high.sum(dtype=np.int64))


def the_largest(found: int | str, where: str, path: Path, wanted: int) -> None:
    """Raises NotYet if `found` isn't the largest sum of this file, and says which windows were
    missed.
    """
    if not isinstance(found, int):
        raise NotYet("other-type", f"it returned {called(found)}. Return a whole number.")
    if found == wanted:
        return
    cause, why = MISSED[where]
    if found > wanted:
        cause, why = (
            "too-large",
            "No window has a sum that large. Did you round, or add up more than `width` bytes?",
        )
    if 0 < found < 2**16:
        cause, why = "small-dtype", "Such sums don't fit in 16 bits: sum with a larger `dtype`."
    size = in_words(path.stat().st_size, "bytes")
    raise NotYet(cause, f"in a file of {size}, expected {wanted:,}, got {found:,}. {why}")


def within_resident(run: Recording, files: int) -> Verdict:
    """Raises NotYet if too much was resident, and says whose memory it was."""
    peak, allowed = run.peak, in_words(RESIDENT, "bytes")
    resident, own = (
        in_words(peak.resident, "bytes"),
        run.heap_peak if peak.anonymous is None else peak.anonymous,
    )
    figures = (
        f"{resident} resident at its peak (budget {allowed})",
        f"{in_words(own, 'bytes')} of its own",
    )
    if peak.resident <= RESIDENT:
        return right(
            f"The {files} sums are right, and never more than {resident} was resident.", figures
        )
    begin = f"the sums are right, but {resident} was resident at the peak; the budget is {allowed}."
    if own > RESIDENT / 2:
        why = (
            f"{in_words(own, 'bytes')} of that is your own memory. How much of the file do you "
            "need in it at once?"
        )
        raise NotYet(
            "too-much-memory",
            f"{begin} {why} (A running sum takes 8 bytes for each byte.)",
            figures,
        )
    why = (
        "The kernel takes lent pages back only when memory is short. Until then every page you "
        "touched stays in your page table. Give pages back as you go, when you're done with them."
    )
    raise NotYet("too-much-resident", f"{begin} {why}", figures)
