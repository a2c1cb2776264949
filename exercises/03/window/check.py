"""03.window: the largest sum of each of five files, and at most 16 MiB resident, lent or owned."""

import secrets
from pathlib import Path

import numpy as np

from helpers.make import random_file
from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

RESIDENT = 16 * MiB
BETWEEN = ("between-pieces", "A window may begin anywhere in one piece of the file, and end in the next.")
MISSED = {  # where the largest window is, in the order in which it is judged: the cause, and what to say
    "start": ("first-window", "The largest window is the first one: it begins at byte 0."),
    "middle": BETWEEN,
    "multiple": BETWEEN,
    "late": (BETWEEN[0], "A window may begin with the last byte of a piece, and the rest of it lies in the next."),
    "end": ("last-window", "The largest window is the last one: it ends where the file ends."),
}


def run(function, paths: list, width: int, numpy_is_here) -> list:
    """What the function returns for each file: a whole number as it is, anything else as the name of its type.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    values = [function(path, width) for path in paths]
    whole = [hasattr(one, "__index__") and type(one) is not bool and not getattr(one, "ndim", 0) for one in values]
    return [int(one) if is_whole else type(one).__name__ for one, is_whole in zip(values, whole, strict=True)]


def judge(attempt: Attempt) -> Verdict:
    width = 48 * KiB + 2 * secrets.randbelow(8 * KiB) + 1
    files = {where: with_largest(attempt, where, width) for where in MISSED}
    paths, wanted = [path for path, _ in files.values()], [most for _, most in files.values()]
    seen = attempt.run(run, paths, width, np.int64(0), memory_limit=4 * attempt.size + 64 * MiB)
    at_multiples = seen.value != wanted and seen.value == [largest_at_multiples(path, width) for path in paths]
    for where, found in zip(files, seen.value, strict=True):
        the_largest(found, where, *files[where], width, at_multiples)
    return within_resident(seen, len(files))


def with_largest(attempt: Attempt, where: str, width: int) -> tuple[Path, int]:
    """A file of random bytes whose largest window is there, and that window's sum."""
    size = {"middle": attempt.size, "late": 8 * MiB, "multiple": 8 * MiB}.get(where, MiB)
    size += 1 + 2 * secrets.randbelow(KiB)
    path = random_file(attempt.folder / f"{where}.bin", size, seed=secrets.randbelow(2**32))
    high = np.random.default_rng(secrets.randbelow(2**32)).integers(200, 256, width, np.uint8)
    high[:64] = high[-64:] = 255  # and zeros around it: no window is as large that begins a bit before or after
    # A high power of two is a border of pieces of any such size, and 120 × width one of pieces of 8 × width, say. The
    # window has one byte behind the border, or one before it: so whoever keeps one byte too few does not find it.
    border = 1 << (size.bit_length() - 2)
    begin = {
        "start": 0, "middle": border - width + 1, "end": size - width, "late": border - 1, "multiple": 120 * width - 1
    }[where]  # fmt: skip
    with path.open("r+b") as file:
        file.seek(max(0, begin - 64))
        file.write(bytes(min(begin, 64)) + high.tobytes() + bytes(min(64, size - width - begin)))
    return path, int(high.sum(dtype=np.int64))


def largest_at_multiples(path: Path, width: int) -> int:
    """The largest sum of the windows that begin at a multiple of `width`."""
    content = np.memmap(path, np.uint8, "r")
    return int(content[: len(content) // width * width].reshape(-1, width).sum(axis=1, dtype=np.int64).max())


def the_largest(found: int | str, where: str, path: Path, wanted: int, width: int, at_multiples: bool) -> None:
    """NotYet says which windows were missed, if `found` is not the largest sum of this file."""
    if not isinstance(found, int):
        raise NotYet("other-type", f"it returned {called(found)}. Return a whole number.")
    if found == wanted:
        return
    if 0 < found < 2**16:
        bits = 8 if found < 2**8 else 16
        most = f"A number of {bits} bits holds no more than {2**bits - 1:,}"
        raise NotYet("small-dtype", f"it returned {found:,}. {most}: sum with a larger `dtype`.")
    cause, why = MISSED[where]
    if at_multiples:
        cause, why = "multiples-only", f"You looked only at multiples of {width:,}. Windows begin at every byte."
    size, than = in_words(path.stat().st_size, "bytes"), "smaller" if found < wanted else "larger"
    raise NotYet(cause, f"in a file of {size} it found {found:,}, {than} than the right {wanted:,}. {why}")


def within_resident(run: Recording, files: int) -> Verdict:
    """NotYet says whose the memory was, if there was too much of it."""
    peak, allowed = run.peak, in_words(RESIDENT, "bytes")
    resident, kinds = in_words(peak.resident, "bytes"), (("anonymous", peak.anonymous), ("file-backed", peak.file))
    figures = (
        f"{resident} resident at its peak (budget {allowed})",
        *(f"{in_words(most, 'bytes')} {kind}" for kind, most in kinds if most is not None),
    )
    if peak.resident <= RESIDENT:
        return right(f"The {files} sums are right, and never more than {resident} was there.", figures)
    begin = f"the sums are right, but {resident} was resident at the peak; the budget is {allowed}."
    if (run.heap_peak if peak.anonymous is None else peak.anonymous) > RESIDENT / 2:
        why = (
            "Most of that is your own. How much of the file must be in memory of your own at once? (A running sum "
            "takes 8 bytes for each byte of the file.)"
        )
        raise NotYet("too-much-memory", f"{begin} {why}", figures)
    why = (
        "Most of that is lent, and the kernel could take it back. But it does so only when memory is short: until then "
        "each page that was touched stays in your page table. Give pages back when you are done with them, as you go."
    )
    raise NotYet("too-much-resident", begin if peak.file is None else f"{begin} {why}", figures)
