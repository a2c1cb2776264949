"""09.snapshot: three good files are lent, the large one without its numbers being read; twelve others are refused."""

import secrets
import struct
import zlib

import numpy as np

from helpers.owners import mapping_under
from helpers.teach.judging import Attempt, NotYet, Verdict, within
from helpers.units import MiB, in_words

HEADER = struct.Struct("<8sIIQQI")
MAGIC, VERSION, ORDER, FIRST = b"SNAPSHOT", 1, 0x01020304, 40  # FIRST: where numbers may begin


def run(function, paths: list[str], np) -> list[tuple]:
    """How each load ended: "returned" and what; "refused" with a ValueError, or "raised" another error, and which.

    What is returned is kept until whoever samples from outside has seen it. numpy is an argument so that it is loaded
    before anything is measured.
    """
    import time

    kept, found = [], []
    for path in paths:
        try:
            kept.append(function(path))
        except Exception as error:
            found.append(
                ("refused" if isinstance(error, ValueError) else "raised", f"`{type(error).__name__}: {error}`"[:200])
            )
        else:
            found.append(("returned", seen(kept[-1])))
    time.sleep(0.25)
    return found


def seen(array) -> dict:
    """What it is, its numbers at both ends, and whether it is `lent` by a mapping and `writable`."""
    if not (hasattr(array, "dtype") and hasattr(array, "flags")):
        return {"is": f"`{type(array).__name__}`"}
    return {
        "is": f"{array.dtype} of shape {array.shape}",
        "ends": [float(array[at]) for at in (0, 1, -2, -1)] if array.ndim == 1 and array.size > 1 else [],
        "lent": mapping_under(array) is not None,
        "writable": array.flags.writeable,
    }


def judge(attempt: Attempt) -> Verdict:
    good, bad = good_snapshots(attempt.size), bad_snapshots()
    names = secrets.SystemRandom().sample(range(100), len(good) + len(bad))  # which tell nothing
    paths = [attempt.folder / f"{name}.bin" for name in names]
    contents = [snapshot(numbers, first) for first, numbers in good.items()] + list(bad.values())
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    seen = attempt.run(run, [str(path) for path in paths], np, memory_limit=2 * attempt.size + 64 * MiB)
    for (first, numbers), end in zip(good.items(), seen.value, strict=False):
        lent(*end, first, numbers)
    for what, (ended, told) in zip(bad, seen.value[len(good) :], strict=True):
        if ended != "refused":
            got = told if ended == "raised" else told["is"]
            raise NotYet("not-refused", f"for a file that {what}: expected a ValueError, got {got}.")
    largest = paths[0].stat().st_size
    if seen.peak.file is not None and seen.peak.file > largest / 2:
        read = in_words(seen.peak.file, "bytes")
        why = (
            f"you lend and refuse the right files, but of a file of {in_words(largest, 'bytes')} you read {read} to "
            "open it. The more numbers there are, the longer that takes. The header has to be enough."
        )
        raise NotYet("reads-the-numbers", why)
    return within(seen, 4 * MiB, f"You lend {len(good)} good files and refuse {len(bad)} others")


def lent(ended: str, told: dict | str, first: int, numbers: np.ndarray) -> None:
    """NotYet if the numbers of a good file, which begin at byte `first`, were not lent."""
    expected = f"float64 of shape {numbers.shape}"
    got = told["is"] if ended == "returned" else told
    if got != expected:
        cause = "other-array" if ended == "returned" else "good-refused"
        raise NotYet(cause, f"for a good file whose numbers begin at byte {first}: expected {expected}, got {got}.")
    if told["ends"] != [float(numbers[at]) for at in (0, 1, -2, -1)]:
        why = "your array has other numbers than the file. The header says at which byte they begin."
        raise NotYet("other-numbers", why)
    if not told["lent"]:
        raise NotYet("copied", "the numbers are right, but they are a copy: there is no mapping behind your array.")
    if told["writable"]:
        raise NotYet("writable", "your array can be written to. Map the file so that it can only be read.")


def good_snapshots(size: int) -> dict[int, np.ndarray]:
    """Where the numbers of each begin -> the numbers: an array of `size` bytes, and two small ones."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    few, fewer = map(int, rng.integers(8, 99, 2))
    return {
        4096: rng.random(size // 8),
        FIRST: rng.random(few),
        FIRST + 8 * (1 + secrets.randbelow(99)): rng.random(fewer),
    }


def snapshot(numbers: np.ndarray, first: int = FIRST, more: int = 0, **other: bytes | int) -> bytes:
    """The bytes of a snapshot whose numbers begin at byte `first`, by its header at least; it says `more` of them.

    other: the magic, version or order that it has instead of the right one.
    """
    begin = {"magic": MAGIC, "version": VERSION, "order": ORDER} | other
    fields = HEADER.pack(*begin.values(), first, numbers.size + more, 0)[:-4]
    header = fields + zlib.crc32(fields).to_bytes(4, "little") + bytes(4)
    return header + bytes(max(0, first - len(header))) + numbers.tobytes()[max(0, len(header) - first) :]


def bad_snapshots() -> dict[str, bytes]:
    """What is wrong with each -> its bytes. Each breaks one rule."""
    pick = secrets.randbelow
    numbers = np.random.default_rng(pick(2**32)).random(16 + pick(64))
    good, at, end = snapshot(numbers), pick(len(MAGIC)), HEADER.size - 4
    foreign = MAGIC[:at] + bytes([MAGIC[at] ^ 1 + pick(255)]) + MAGIC[at + 1 :]
    return {
        "is empty": b"",
        "ends within its header": good[: 1 + pick(HEADER.size - 1)],
        "has another magic": snapshot(numbers, magic=foreign),
        "has another version": snapshot(numbers, version=2 + pick(9)),
        "comes from a machine with the other byte order": snapshot(numbers.byteswap(), order=0x04030201),
        "has a damaged header, as only the checksum tells": snapshot(numbers[1:], FIRST + 8)[:end] + good[end:],
        "has its numbers inside the header": snapshot(numbers, 8 * (1 + pick(4))),
        "has its numbers at an odd place": snapshot(numbers, FIRST + 1 + pick(7)),
        "has 2^61 numbers, by its header": snapshot(numbers, more=2**61),
        "was cut short": good[: -1 - pick(64)],
        "is a byte longer than its header says": good + bytes([pick(256)]),
        "has a number after its end": snapshot(np.append(numbers, 1.0), more=-1),
    }
