"""08.reader: the arrays of a sound file, lent by a mapping of it and read-only; ValueError for
every damaged file.
"""

import secrets
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from helpers.safe_files import regular_file
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, right, within
from helpers.units import MiB

KINDS = {"float32": 1, "int64": 2, "uint8": 3}
ENTRY = struct.Struct("<16s3IQ")  # name, kind at byte 16, rows at 20, columns at 24, offset at 28
SOUND = "that is sound"
CLOSED = (
    "closed",
    (
        "the arrays borrow from the mapping, and you closed it, or tried to: with `close`, or at "
        "the end of `with`. Leave it open: it closes when the last array is gone. `np.frombuffer` "
        "keeps it open, `np.ndarray` over it doesn't."
    ),
)


# --- in the student's process ---------------------------------------------------------------------
def run(function, path: Path, np) -> dict[str, tuple | str] | str:
    """For each array that the reader returns for a sound file: a view of some of it, as it is when
    it's sent, its shape, and whether it's read-only. The type of anything that isn't an array.

    numpy is an argument so that it is loaded before anything is measured.
    """
    arrays = function(path)
    if not isinstance(arrays, Mapping):
        return type(arrays).__name__
    told = {str(name): f"`{type(array).__name__}`" for name, array in arrays.items()}
    there = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    return told | {
        str(name): (some_of(a), a.shape, memoryview(a).readonly) for name, a in there.items()
    }


def some_of(array):
    """A view of rows and columns from all over a matrix."""
    return array[tuple(slice(None, None, max(1, length // 16)) for length in array.shape)]


def refusals(function, paths: list[Path], np) -> list[tuple[bool, str]]:
    """For each file: whether the reader raises a ValueError, and what it raises, "" for no error.

    Never reads through what it returns: that may lie outside of the file.
    """
    found = []
    for path in paths:
        try:
            function(path)
            found.append((False, ""))
        except Exception as error:
            found.append(
                (isinstance(error, ValueError), f"`{type(error).__name__}: {error}`"[:200])
            )
    return found


# --- outside of it --------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    """Overwrites the numbers in the file once the reader has returned: lent arrays show the new
    numbers.
    """
    path, arrays = attempt.folder / "model.zcm", matrices(attempt.size)
    others = {name: (~array.view("u1")).view(array.dtype) for name, array in arrays.items()}
    path.write_bytes(zcm(arrays))
    attempt.hand_out(path)

    def look(pid: int) -> None:
        attempt.unharmed()
        with regular_file(path, links=False, mode="r+b") as file:
            file.write(zcm(others))
        attempt.hand_out(path)

    limit, means = 4 * attempt.size + 64 * MiB, {CRASH: CLOSED, "exported pointers exist": CLOSED}
    sound = attempt.run(run, path, np, memory_limit=limit, means=means, look=look)
    try:
        as_they_are(sound.value, arrays, others)
        verdict = within(sound, MiB, "The arrays are right and borrowed from the file")
    except NotYet as slip:
        if slip.cause in ("copied", "writable", "too-much-memory"):
            with suppress(NotYet):
                refuses(attempt)
                slip.half = "damaged files are refused"
        raise
    try:
        refuses(attempt)
    except NotYet as slip:
        slip.half = "" if slip.cause == "sound-refused" else "a sound file is read in place"
        raise
    attempt.recording = sound
    return right(f"{verdict.because} All damaged files were refused.", verdict.figures)


def as_they_are(
    told: dict | str, arrays: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]
) -> None:
    """Raises NotYet about the first array that isn't the file's, isn't lent or isn't read-only.

    arrays: what the file held when it was read; others: what it holds now.
    """
    names = sorted(told) if isinstance(told, dict) else f"`{told}`"
    if names != sorted(arrays):
        why = (
            f"expected a dict with the names {sorted(arrays)}, got {names}. The zeros don't belong "
            "to a name."
        )
        raise NotYet("other-names", why)
    for name, array in arrays.items():
        expected, given = f"{array.dtype} of shape {array.shape}", told[name]
        got = given if isinstance(given, str) else f"{given[0].dtype} of shape {given[1]}"
        if got != expected:
            raise NotYet("other-array", f"`{name}`: expected {expected}, got {got}.")
        some, _, read_only = given
        if some.tobytes() == some_of(array).tobytes():
            why = (
                f"`{name}` has the right numbers, but it's a copy: it kept them when the file was "
                "overwritten."
            )
            raise NotYet("copied", why)
        if some.tobytes() != some_of(others[name]).tobytes():
            why = (
                f"`{name}` doesn't have the file's numbers. An offset counts bytes from the "
                "beginning of the file."
            )
            raise NotYet("other-numbers", why)
        if not read_only:
            raise NotYet("writable", f"`{name}` can be written to. Map the file read-only.")


def refuses(attempt: Attempt) -> None:
    """Raises NotYet about the first damaged file that isn't refused with a ValueError, or a small
    sound file that is refused.
    """
    files = small_files()
    paths = [attempt.folder / f"{number}.zcm" for number in range(len(files))]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    look = "The numbers in it may be anything: check each before you use it."
    try:
        found = attempt.run(refusals, paths, np, memory_limit=64 * MiB).value
    except NotYet as slip:
        raise NotYet(
            slip.cause, f"for a damaged file of a few hundred bytes: {slip.because} {look}"
        ) from None
    for what, (refused, got) in zip(files, found, strict=True):
        if what == SOUND and got:
            raise NotYet("sound-refused", f"for a small sound file: expected arrays, got {got}.")
        if what != SOUND and not refused:
            got = got or "no error"
            raise NotYet(
                "not-refused", f"for a file {what}: expected a ValueError, got {got}. {look}"
            )


# --- files of that format -------------------------------------------------------------------------
def matrices(size: int) -> dict[str, np.ndarray]:
    """Matrices of about `size` bytes that the student's code hasn't seen, in random order."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    rows, columns = map(int, rng.integers(100, 200, 2))
    arrays = {
        "labels": rng.integers(0, 256, (rows, 3), "u1"),
        "embedding.weight": rng.random((size // 4096, 1024), "f4"),
        "ids": rng.integers(0, 2**32, (rows, columns), "i8"),
    }
    return {name: arrays[name] for name in secrets.SystemRandom().sample(list(arrays), len(arrays))}


def zcm(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a file with these matrices."""
    first, table, data = 8 + ENTRY.size * len(arrays), b"", bytearray()
    for name, array in arrays.items():
        data += bytes(-(first + len(data)) % 8)
        table += ENTRY.pack(name.encode(), KINDS[str(array.dtype)], *array.shape, first + len(data))
        data += array.tobytes()
    return b"ZCM1" + struct.pack("<I", len(arrays)) + table + data


def small_files() -> dict[str, bytes]:
    """The one thing that is wrong with each file -> its bytes, in random order. One file is
    SOUND.
    """
    pick = secrets.randbelow
    few, more = (
        np.frombuffer(secrets.token_bytes(8 * n), kind).reshape(-1, 2)
        for n, kind in ((3, "f4"), (8, "i8"))
    )
    sound = zcm({f"first-{pick(99)}": few, f"second-{pick(99)}": more})

    def patched(at: int, layout: str, *numbers: int) -> bytes:
        data = bytearray(sound)
        struct.pack_into(layout, data, at + (8 + ENTRY.size * pick(2) if at >= 16 else 0), *numbers)
        return bytes(data)

    files = {
        "whose first bytes are not ZCM1": b"ZCM2" + sound[4:],
        "of 6 bytes": sound[:6],
        "that ends within its table": sound[: 8 + ENTRY.size + 32],
        "that promises 16,777,216 matrices": patched(4, "<I", 2**24),
        "with a matrix of kind 0": patched(16, "<I", 0),
        "with a matrix of kind 7": patched(16, "<I", 7),
        "that ends within its last matrix": sound[:-16],
        "with a matrix that begins beyond its end": patched(28, "<Q", 4096),
        "with an offset of 2**64 - 8": patched(28, "<Q", 2**64 - 8),
        "with a matrix of 2**31 rows and 2**31 columns": patched(20, "<2I", 2**31, 2**31),
        "with a matrix that begins inside the table": patched(28, "<Q", 16),
        "with an offset that is not a multiple of 8": patched(20, "<2IQ", 1, 2, len(sound) - 20),
        SOUND: sound,
    }
    return dict(secrets.SystemRandom().sample(list(files.items()), len(files)))
