"""09.snapshot: three good files are lent, the large one without reading its numbers; fourteen
others are refused.
"""

import secrets
import struct
import zlib
from contextlib import suppress
from functools import reduce
from pathlib import Path

import numpy as np

from helpers.safe_files import regular_file
from helpers.teach.judging import Attempt, NotYet, Verdict, within
from helpers.units import MiB, in_words

HEADER = struct.Struct("<8sIIQQI")
MAGIC, VERSION, ORDER, FIRST = b"SNAPSHOT", 1, 0x01020304, 40  # FIRST: where numbers may begin
REFUSED = "damaged files are refused"
FAR_APART = (
    "ends within its header",
    "has another version",
    "has a damaged header, which only the checksum shows",
)


def run(function, paths: list[Path], np) -> list[tuple]:
    """How each load ended: "returned" and what, see `shown`; "refused" with a ValueError, and what
    it says; "raised" another error, and which.

    numpy is an argument so that it is loaded before anything is measured.
    """
    found = []
    for path in paths:
        try:
            found.append(("returned", *shown(function(path))))
        except ValueError as error:
            found.append(("refused", str(error)[:2000]))
        except Exception as error:
            found.append(("raised", f"{type(error).__name__}: {error}"[:200]))
    return found


def ends_of(array) -> list:
    return [array[:4], array[-4:]]


def shown(array) -> tuple:
    """What it is; views of its first and last numbers, as they are when they're sent; whether it's
    read-only.
    """
    import numpy as np

    if not isinstance(array, np.ndarray) or array.ndim != 1:
        return type(array).__name__, [], True
    return f"{array.dtype} of shape {array.shape}", ends_of(array), memoryview(array).readonly


def judge(attempt: Attempt) -> Verdict:
    """Overwrites the numbers of the good files once all are loaded: lent arrays show the new
    numbers.
    """
    good, bad = good_snapshots(attempt.size), bad_snapshots()
    names = secrets.SystemRandom().sample(range(100), len(good) + len(bad))  # these tell nothing
    paths = [attempt.folder / f"{name}.bin" for name in names]
    contents = [snapshot(numbers, first) for first, numbers in good.items()] + list(bad.values())
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
        attempt.hand_out(path)

    def look(pid: int) -> None:
        attempt.unharmed()
        for path, (first, numbers) in zip(paths, good.items(), strict=False):
            with regular_file(path, links=False, mode="r+b") as file:
                file.seek(first)
                file.write(-numbers)
            attempt.hand_out(path)

    order = secrets.SystemRandom().sample(paths, len(paths))
    seen = attempt.run(run, order, np, memory_limit=2 * attempt.size + 64 * MiB, look=look)
    ends = dict(zip(order, seen.value, strict=True))
    of_bad = dict(zip(bad, [ends[path] for path in paths[len(good) :]], strict=True))
    try:
        for path, (first, numbers) in zip(paths, good.items(), strict=False):
            lent(ends[path], first, numbers)
    except NotYet as slip:
        # any other: refusing the rest is no half if good files go with it
        if slip.cause in ("copied", "writable"):
            with suppress(NotYet):
                refused(of_bad, paths)
                slip.half = REFUSED
        raise
    refused(of_bad, paths)
    largest, read = len(contents[0]), max(seen.peak.file or 0, seen.io.read_bytes or 0)
    if read > largest / 2:
        why = (
            "you lend and refuse the right files, but to open a file of "
            f"{in_words(largest, 'bytes')} you read {in_words(read, 'bytes')}. The more numbers "
            "there are, the longer that takes. The header must be enough."
        )
        raise NotYet("reads-the-numbers", why, half=REFUSED)
    return within(
        seen,
        4 * MiB,
        f"You lend {len(good)} good files and refuse {len(bad)} others",
        half=REFUSED,
    )


def lent(end: tuple, first: int, numbers: np.ndarray) -> None:
    """Raises NotYet if the numbers of a good file, which begin at byte `first`, weren't lent."""
    expected = f"float64 of shape {numbers.shape}"
    if end[1] != expected:
        cause = "other-array" if end[0] == "returned" else "good-refused"
        why = (
            f"for a good file whose numbers begin at byte {first}: expected {expected}, got "
            f"`{end[1]}`."
        )
        raise NotYet(cause, why)
    old, new, now = (
        b"".join(map(bytes, ends)) for ends in (ends_of(numbers), ends_of(-numbers), end[2])
    )
    if now == old:
        why = (
            "the numbers are right, but they're a copy: your array kept them when the file was "
            "overwritten."
        )
        raise NotYet("copied", why)
    if now != new:
        why = (
            "your array doesn't have the file's numbers. The header says at which byte they begin."
        )
        raise NotYet("other-numbers", why)
    if not end[3]:
        raise NotYet("writable", "your array can be written to. Map the file read-only.")


def refused(ends: dict[str, tuple], paths: list[Path]) -> None:
    """Raises NotYet about a bad file that wasn't refused with a ValueError, or whose error doesn't
    say what's wrong.

    ends: what is wrong with a file -> how its load ended. Errors of FAR_APART must differ in more
    than the file's name.
    """
    # 7.bin last: 17.bin ends in it
    said, paths = ({}, sorted(paths, key=lambda path: -len(path.name)))
    for what, (how, text, *_) in ends.items():
        if how != "refused":
            raise NotYet(
                "not-refused", f"for a file that {what}: expected a ValueError, got `{text}`."
            )
        without = reduce(
            lambda text, path: text.replace(str(path), "").replace(path.name, ""), paths, text
        ).strip()
        other = said.setdefault(without, what) if what in FAR_APART else what
        if not without or other != what:
            why = f"for a file that {what}, your ValueError says “{text[:200]}”"
            more = f", and the same for a file that {other}" if other != what else ""
            raise NotYet(
                "says-nothing",
                f"{why}{more}. Say what's wrong with it: name the value you found, say.",
            )


def good_snapshots(size: int) -> dict[int, np.ndarray]:
    """Where each array's numbers begin -> the numbers: an array of `size` bytes, and two small
    arrays.
    """
    rng = np.random.default_rng(secrets.randbelow(2**32))
    few, fewer = map(int, rng.integers(8, 99, 2))
    return {
        4096: rng.random(size // 8),
        FIRST: rng.random(few),
        FIRST + 8 * (1 + secrets.randbelow(99)): rng.random(fewer),
    }


def snapshot(numbers: np.ndarray, first: int = FIRST, more: int = 0, **other: bytes | int) -> bytes:
    """The bytes of a snapshot whose numbers begin at byte `first`, at least by its header, which
    promises `more`.

    other: the wrong magic, version or order.
    """
    begin = {"magic": MAGIC, "version": VERSION, "order": ORDER} | other
    fields = HEADER.pack(*begin.values(), first, numbers.size + more, 0)[:-4]
    header = fields + zlib.crc32(fields).to_bytes(4, "little") + bytes(4)
    return (
        header
        + bytes(max(0, first - len(header)))
        + numbers.tobytes()[max(0, len(header) - first) :]
    )


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
        "has version 0": snapshot(numbers, version=0),
        "comes from a machine with the other byte order": snapshot(
            numbers.byteswap(), order=0x04030201
        ),
        "has no byte order mark": snapshot(numbers, order=0),
        "has a damaged header, which only the checksum shows": (
            snapshot(numbers[1:], FIRST + 8)[:end] + good[end:]
        ),
        "has its numbers inside the header": snapshot(numbers, 8 * (1 + pick(4))),
        "has numbers that don't begin at a multiple of 8": snapshot(numbers, FIRST + 1 + pick(7)),
        "claims to have more than 2^61 numbers": snapshot(numbers, more=2**61),
        "was cut short": good[: -1 - pick(64)],
        "is a byte longer than its header says": good + bytes([pick(256)]),
        "has a number after its end": snapshot(np.append(numbers, 1.0), more=-1),
    }
