"""08.reader: the arrays of a sound file, lent by a mapping of it and read-only; ValueError for every damaged file."""

import secrets
import struct
from collections.abc import Mapping

import numpy as np

from helpers.owners import mapping_under
from helpers.teach.inside import is_mapped, some
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, right, within
from helpers.units import MiB

KINDS = {"float32": 1, "int64": 2, "uint8": 3}
ENTRY = struct.Struct("<16s3IQ")
CLOSED = (
    "closed",
    "the arrays borrow from the mapping, and you closed it, or tried to: with `close`, or at the end of `with`. Leave "
    "it open: it closes when the last array is gone. `np.frombuffer` keeps it open, `np.ndarray` over it does not.",
)


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, path: str, np) -> dict[str, dict] | str:
    """What each array is that the reader returns for a sound file; if it returns no dict, the type.

    numpy is an argument so that it is loaded before anything is measured.
    """
    arrays = function(path)
    if not hasattr(arrays, "items"):
        return type(arrays).__name__
    told = {str(name): {"is": f"`{type(array).__name__}`"} for name, array in arrays.items()}
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            told[str(name)] = {
                "is": f"{array.dtype} of shape {array.shape}",
                "numbers": (float(array.sum(dtype="f8")), some(array)),
                "lent": mapping_under(array) is not None and is_mapped(path) is not False,
                "writable": array.flags.writeable,
            }
    return told


def refusals(function, paths: list[str], np) -> list[tuple[bool, str]]:
    """For each file: does the reader raise a ValueError, and what it raises, if anything.

    Nothing is read through what it returns: that may lie outside of the file.
    """
    found = []
    for path in paths:
        try:
            function(path)
        except Exception as error:
            found.append((isinstance(error, ValueError), f"`{type(error).__name__}: {error}`"[:200]))
        else:
            found.append((False, "no error"))
    return found


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    path, arrays = attempt.folder.resolve() / "model.zcm", matrices(attempt.size)
    path.write_bytes(zcm(arrays))
    means = {CRASH: CLOSED, "exported pointers exist": CLOSED}
    sound = attempt.run(run, str(path), np, memory_limit=4 * attempt.size + 64 * MiB, means=means)
    as_they_are(sound.value, arrays)
    verdict = within(sound, MiB, "The arrays are right and borrowed from the file")
    refuses(attempt)
    attempt.recording = sound
    return right(f"{verdict.because} All damaged files were refused.", verdict.figures)


def as_they_are(told: dict[str, dict] | str, arrays: Mapping[str, np.ndarray]) -> None:
    """NotYet about the first array that is not the file's, or not lent, or not read-only."""
    names = sorted(told) if isinstance(told, dict) else f"`{told}`"
    if names != sorted(arrays):
        why = f"expected a dict with the names {sorted(arrays)}, got {names}. The zeros do not belong to a name."
        raise NotYet("other-names", why)
    for name, array in arrays.items():
        one, expected = told[name], f"{array.dtype} of shape {array.shape}"
        if one["is"] != expected:
            raise NotYet("other-array", f"`{name}`: expected {expected}, got {one['is']}.")
        if one["numbers"] != (float(array.sum(dtype="f8")), some(array)):
            why = f"`{name}` has other numbers than the file. An offset counts bytes from the beginning of the file."
            raise NotYet("other-numbers", why)
        if not one["lent"]:
            why = f"`{name}` has the right numbers, but it is a copy: it is not a view of a mapping of the file."
            raise NotYet("copied", why)
        if one["writable"]:
            raise NotYet("writable", f"`{name}` can be written to. Map the file so that it can only be read.")


def refuses(attempt: Attempt) -> None:
    """NotYet about the first damaged file that does not end in a ValueError, or a small sound one that ends in one."""
    files = small_files()
    paths = [attempt.folder / f"{number}.zcm" for number in range(len(files))]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    look = "The numbers in it may be anything: look at each one before you use it."
    try:
        found = attempt.run(refusals, [str(path) for path in paths], np, memory_limit=64 * MiB).value
    except NotYet as slip:
        raise NotYet(slip.cause, f"for a damaged file of a few hundred bytes: {slip.because} {look}") from None
    for what, (refused, got) in zip(files, found, strict=True):
        if what == "that is sound" and got != "no error":
            raise NotYet("sound-refused", f"for a small file that is sound: expected arrays, got {got}.")
        if what != "that is sound" and not refused:
            raise NotYet("not-refused", f"for a file {what}: expected a ValueError, got {got}. {look}")


# --- files of that format -------------------------------------------------------------------------------------
def matrices(size: int) -> dict[str, np.ndarray]:
    """Matrices of about `size` bytes that the student's code has not seen, in any order."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    rows, columns = map(int, rng.integers(100, 200, 2))
    arrays = {
        "labels": rng.integers(0, 256, (rows, 3), "u1"),
        "embedding.weight": rng.integers(0, 256, (size // 4096, 1024), "u1") / np.float32(256),  # sums are exact
        "ids": rng.integers(0, 2**32, (rows, columns), "i8"),
    }
    return {name: arrays[name] for name in secrets.SystemRandom().sample(list(arrays), len(arrays))}


def zcm(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The file of these matrices."""
    first, table, data = 8 + ENTRY.size * len(arrays), b"", bytearray()
    for name, array in arrays.items():
        data += bytes(-(first + len(data)) % 8)
        table += ENTRY.pack(name.encode(), KINDS[str(array.dtype)], *array.shape, first + len(data))
        data += array.tobytes()
    return b"ZCM1" + struct.pack("<I", len(arrays)) + table + data


def small_files() -> dict[str, bytes]:
    """What is wrong with each, and nothing else is -> its bytes. The last one is sound."""
    sound = zcm({"one": np.arange(6, dtype="f4").reshape(2, 3), "two": np.arange(8, dtype="i8").reshape(4, 2)})
    last = 8 + ENTRY.size  # the entry of the last matrix: kind at 16, rows at 20, columns at 24, offset at 28

    def patched(at: int, layout: str, *numbers: int) -> bytes:
        data = bytearray(sound)
        struct.pack_into(layout, data, at, *numbers)
        return bytes(data)

    return {
        "whose first bytes are not ZCM1": b"ZCM2" + sound[4:],
        "of 6 bytes": sound[:6],
        "that ends within its table": sound[: last + 32],
        "that promises 16,777,216 matrices": patched(4, "<I", 2**24),
        "with a matrix of kind 7": patched(last + 16, "<I", 7),
        "that ends within its last matrix": sound[:-16],
        "with a matrix that begins beyond its end": patched(last + 28, "<Q", 4096),
        "with an offset of 2**64 - 8": patched(last + 28, "<Q", 2**64 - 8),
        "with a matrix of 2**31 rows and 2**31 columns": patched(last + 20, "<2I", 2**31, 2**31),
        "with a matrix that begins inside the table": patched(last + 28, "<Q", 16),
        "with an offset that is not a multiple of 8": patched(last + 20, "<2IQ", 1, 2, len(sound) - 20),
        "that is sound": sound,
    }
