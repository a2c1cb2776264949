"""08.reader: the arrays of a sound file, lent by a mapping of it and read-only; ValueError for every damaged file."""

import secrets
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from helpers.make import whole_file
from helpers.teach.inside import some
from helpers.teach.judging import CRASHED, Attempt, NotYet, Verdict, called, right, within
from helpers.units import MiB

KINDS = {"float32": 1, "int64": 2, "uint8": 3}
ENTRY = struct.Struct("<16s3IQ")
DAMAGES = {
    "magic": "whose first bytes are not ZCM1",
    "head": "of 6 bytes",
    "table": "that ends within its table",
    "count": "that promises 16,777,216 arrays",
    "kind": "with an array of kind 7",
    "data": "that ends within its last array",
    "offset": "with an array that begins beyond its end",
    "far": "with an offset of 2**64 - 8",
    "shape": "with an array of 2**31 rows and 2**31 columns",
    "inside": "with an array that begins inside the table",
    "odd": "with an offset that is no multiple of 8",
}


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, path: str, np) -> tuple[str, dict[str, dict] | None]:
    """Type of what the reader returns for a sound file; if it is a dict, what can be seen of each array in it.

    numpy is an argument so that it is loaded before anything is measured.
    """
    arrays = function(path)
    if not hasattr(arrays, "items"):
        return type(arrays).__name__, None
    return "dict", {str(name): seen(array, path) for name, array in arrays.items()}


def seen(array, path: str) -> dict:
    """Type, dtype and shape, some numbers, `lent` by a mapping of the file (None where that cannot be seen)."""
    if not (hasattr(array, "dtype") and hasattr(array, "ravel")):
        return {"type": type(array).__name__, "dtype": None}
    return {
        "dtype": str(array.dtype),
        "shape": tuple(array.shape),
        "numbers": (float(array.sum(dtype="f8")), some(array)),
        "lent": lies_in(path, array),
        "writable": array.flags.writeable,
    }


def lies_in(path: str, array) -> bool | None:
    """Do the bytes of the array lie in a mapping of the file? None where proc_pid_maps(5) is not there."""
    import os

    if not os.path.exists("/proc/self/maps"):
        return None
    at = array.__array_interface__["data"][0]
    end = at + array.nbytes
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if line.rstrip().endswith(path) and first <= at < last:
                at = last  # the kernel may list one mapping in several lines
    return at >= end


def refusals(function, paths: list[str], np) -> list[str | None]:
    """What the reader raises for each file, None if nothing.

    Nothing is read through what it returns: that may lie outside of the file.
    """
    found = []
    for path in paths:
        try:
            function(path)
            found.append(None)
        except Exception as error:
            kind = ValueError if isinstance(error, ValueError) else type(error)
            module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            found.append(f"{module}{kind.__qualname__}: {error}"[:200])
    return found


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    path, arrays = zcm(attempt.folder.resolve() / "model.zcm", attempt.size)
    try:
        sound = attempt.run(run, str(path), np, memory_limit=4 * attempt.size + 64 * MiB)
    except NotYet:
        closed(attempt)
        raise
    as_they_are(*sound.value, arrays)
    verdict = within(sound, MiB, "The arrays are right and borrowed from the file")
    refuses(attempt)
    attempt.recording = sound
    return right(f"{verdict.because} All {len(DAMAGES)} damaged files were refused.", verdict.figures)


def closed(attempt: Attempt) -> None:
    """NotYet("closed") if the reader did not return because the mapping was closed, or was to be, under its arrays."""
    ended, error = attempt.recording.ended, attempt.recording.error or ""
    if ended in CRASHED:
        why = (
            f"reading the arrays ended the process ({ended}): nothing is mapped any more at the addresses they point "
            "to. What closed the mapping, and which way of making an array doesn't keep it open?"
        )
        raise NotYet("closed", why)
    if "exported pointers exist" in error:
        why = (
            "it raised BufferError: the arrays borrow from the mapping, and `close` or the end of `with` tried to "
            "close it. Leave the mapping alone: it goes when the last array does."
        )
        raise NotYet("closed", why)


def as_they_are(kind: str, told: dict[str, dict] | None, arrays: Mapping[str, np.ndarray]) -> None:
    """NotYet about the first array that is not the file's, or not lent, or not read-only."""
    if told is None:
        raise NotYet("no-dict", f"it returned {called(kind)}. Return a dict: name to array.")
    if set(told) != set(arrays):
        expected, got = sorted(arrays), sorted(told)
        raise NotYet("wrong-names", f"expected the names {expected}, got {got}. A name is a `str` without the zeros.")
    for name, array in arrays.items():
        one = told[name]
        if one["dtype"] is None:
            raise NotYet("no-array", f"`{name}` is {called(one['type'])}, not an array.")
        wanted, given = (str(array.dtype), array.shape), (one["dtype"], one["shape"])
        if given != wanted:
            why = f"`{name}`: expected {wanted[0]} of shape {wanted[1]}, got {given[0]} of shape {given[1]}."
            raise NotYet("wrong-dtype" if given[0] != wanted[0] else "wrong-shape", why)
        if one["numbers"] != (float(array.sum(dtype="f8")), some(array)):
            why = f"`{name}` has other numbers than the file. An offset counts bytes from the beginning of the file."
            raise NotYet("wrong-numbers", f"{why} The rows come one after the other.")
        if one["lent"] is False:
            why = f"`{name}` has the right numbers, but it is a copy: its bytes are in no mapping of the file."
            raise NotYet("copied", why)
        if one["writable"]:
            raise NotYet("writable", f"`{name}` can be written to. Map the file so that it can only be read.")


def refuses(attempt: Attempt) -> None:
    """NotYet about the first damaged file that is not refused with a ValueError, or a small sound one that is."""
    paths = [damaged(attempt.folder / f"{kind}.zcm", kind) for kind in (*DAMAGES, "none")]
    try:
        found = attempt.run(refusals, [str(path) for path in paths], np, memory_limit=64 * MiB).value
    except NotYet as slip:
        why = f"for damaged files of a few hundred bytes: {slip.because} The numbers in them may be huge."
        raise NotYet(slip.cause, f"{why} Compare each one with the length of the file before you use it.") from None
    if found[-1] is not None:
        raise NotYet("sound-refused", f"a sound file of {paths[-1].stat().st_size} bytes ended in {found[-1]}")
    for does, raised in zip(DAMAGES.values(), found, strict=False):
        if raised is None:
            why = f"for a file {does}: it raised nothing, so somebody would use numbers that are not in the file."
            raise NotYet("not-refused", f"{why} Raise a ValueError.")
        if not raised.startswith("ValueError"):
            why = f"for a file {does}: expected a ValueError, got {raised}. Check the number before you use it."
            raise NotYet("other-error", why)


# --- files of that format -------------------------------------------------------------------------------------
def zcm(path: Path, size: int) -> tuple[Path, dict[str, np.ndarray]]:
    """A file of about `size` bytes that the student's code has not seen, and its arrays."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    rows, columns = map(int, rng.integers(100, 200, 2))
    parts = rng.integers(0, 256, (size // 4 // 1024, 1024), "u1")
    arrays = {
        "labels": rng.integers(0, 256, (rows, 3), "u1"),
        "embedding.weight": parts / np.float32(256),  # multiples of 1/256: every sum is exact
        "ids": rng.integers(0, 2**32, (rows, columns), "i8"),
        "bias": rng.integers(0, 256, (1, columns), "u1") / np.float32(256),
    }
    names = secrets.SystemRandom().sample(list(arrays), len(arrays))
    pieces = written({name: arrays[name] for name in names})
    with whole_file(path, sum(map(len, pieces))) as file:
        file.writelines(pieces)
    return path, arrays


def written(arrays: Mapping[str, np.ndarray], **wrong: int) -> list[bytes]:
    """The file of these arrays, in pieces. `wrong`: its count, or the kind, rows, columns, offset of the last array."""
    at, table, data = 8 + ENTRY.size * len(arrays), [], []
    for name, array in arrays.items():
        data += [bytes(-at % 8), array.tobytes()]
        entry = {"kind": KINDS[str(array.dtype)], "rows": len(array), "columns": array.shape[1], "offset": at + -at % 8}
        at = entry["offset"] + array.nbytes
        last = len(table) + 1 == len(arrays)
        entry |= {field: value for field, value in wrong.items() if last and field in entry}
        table.append(ENTRY.pack(name.encode(), *entry.values()))
    return [b"ZCM1", struct.pack("<I", wrong.get("count", len(arrays))), *table, *data]


def damaged(path: Path, kind: str) -> Path:
    """A small file with that damage, one of DAMAGES or "none", and nothing else wrong."""
    arrays = {"one": np.arange(6, dtype="f4").reshape(2, 3), "two": np.arange(8, dtype="i8").reshape(4, 2)}
    sound = b"".join(written(arrays))
    cut = {"none": sound, "magic": b"ZCM2" + sound[4:], "head": sound[:6], "data": sound[:-16]}
    cut["table"] = sound[: 8 + 2 * ENTRY.size - 4]
    wrong = {
        "count": {"count": 2**24},
        "kind": {"kind": 7},
        "offset": {"offset": 4096},
        "far": {"offset": 2**64 - 8},
        "shape": {"rows": 2**31, "columns": 2**31},
        "inside": {"offset": 16},
        "odd": {"rows": 1, "offset": len(sound) - 20},
    }
    path.write_bytes(cut[kind] if kind in cut else b"".join(written(arrays, **wrong[kind])))
    return path
