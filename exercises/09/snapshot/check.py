"""09.snapshot: three good files are lent, the large one without its numbers being read; twelve others are refused."""

import secrets
import struct
import zlib

import numpy as np

from helpers.make import whole_file
from helpers.owners import mapping_under
from helpers.teach.judging import Attempt, NotYet, Verdict, called, within
from helpers.units import MiB, in_words

HEADER = struct.Struct("<8sIIQQI")
MAGIC, VERSION, ORDER, FIRST = b"SNAPSHOT", 1, 0x01020304, 40  # FIRST: where numbers may begin
LOOK = {
    "has a header that was damaged": "Its offset and count fit together, and both are wrong: only the checksum tells.",
    "has its numbers at an odd place": "numpy would read them, slowly; other code that gets the address may crash.",
    "has 2^61 numbers, by its header": "Compare the count with the length of the file before you calculate with it.",
    "is a byte longer": "Where does the file end, and where do the numbers end, by the header?",
}


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, paths: list[str], np) -> list[dict]:
    """How each load ended: "returned", with what the array is; "refused" with a ValueError; or "raised" another error.

    What the first load returned is kept to the end. numpy is an argument so that it is loaded before anything is
    measured.
    """
    import os
    import traceback

    kept, tellings = None, []
    for path in paths:
        try:
            value = function(path)
        except Exception as error:
            said = traceback.format_exception_only(error)[-1].strip().replace(os.path.dirname(path) + os.sep, "")
            tellings.append({"ended": "refused" if isinstance(error, ValueError) else "raised", "error": said[:200]})
        else:
            tellings.append({"ended": "returned"} | as_array(value))
            kept = value if kept is None else kept
    return tellings


def as_array(value) -> dict:
    if not (hasattr(value, "dtype") and hasattr(value, "flags")):
        return {"type": type(value).__name__, "dtype": None}
    return {
        "dtype": str(value.dtype),
        "shape": tuple(value.shape),
        "ends": [float(value[at]) for at in (0, 1, -2, -1)] if value.ndim == 1 and value.size > 1 else [],
        "lent": mapping_under(value) is not None,
        "writable": value.flags.writeable,
    }


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    firsts = (4096, FIRST, FIRST + 8 * (1 + secrets.randbelow(99)))
    good, bad = good_numbers(attempt.size), bad_snapshots()
    names = secrets.SystemRandom().sample(range(100), len(good) + len(bad))  # which tell nothing
    paths = [attempt.folder / f"{name}.bin" for name in names]
    for path, first, numbers in zip(paths, firsts, good, strict=False):
        with whole_file(path, first + numbers.nbytes) as file:
            file.write(snapshot(numbers, first))
    for path, content in zip(paths[len(good) :], bad.values(), strict=True):
        path.write_bytes(content)
    seen = attempt.run(run, [str(path) for path in paths], np, memory_limit=2 * attempt.size + 64 * MiB)
    for told, first, numbers in zip(seen.value, firsts, good, strict=False):
        lent(told, first, numbers)
    for told, kind in zip(seen.value[len(good) :], bad, strict=True):
        refused(told, kind)
    largest = good[0].nbytes
    if seen.peak.file is not None and seen.peak.file > largest / 2:
        why = (
            "you lend and refuse the right files, but to open a file with numbers of "
            f"{in_words(largest, 'bytes')}, you read {in_words(seen.peak.file, 'bytes')} of them. The more numbers, "
            "the longer that takes. The header has to be enough."
        )
        raise NotYet("reads-the-numbers", why)
    return within(seen, 4 * MiB, f"You lend {len(good)} good files and refuse {len(bad)} others")


def lent(told: dict, first: int, numbers: np.ndarray) -> None:
    """NotYet if the numbers of a good file, which begin at byte `first`, were not lent."""
    if told["ended"] != "returned":
        why = f"nothing is wrong with a file whose numbers begin at byte {first}, but it ended in `{told['error']}`."
        raise NotYet("good-refused", why)
    if told["dtype"] is None:
        raise NotYet("no-array", f"for a good file it returned {called(told['type'])}. The caller wants an array.")
    if (told["dtype"], told["shape"]) != ("float64", numbers.shape):
        why = f"expected float64 of shape {numbers.shape}, got {told['dtype']} of shape {told['shape']}."
        raise NotYet("wrong-shape", why)
    if told["ends"] != [float(numbers[at]) for at in (0, 1, -2, -1)]:
        why = "your array has other numbers than the file. The header says at which byte they begin."
        raise NotYet("wrong-numbers", why)
    if not told["lent"]:
        raise NotYet("copied", "the numbers are right, but they are a copy: there is no mapping behind your array.")
    if told["writable"]:
        raise NotYet("writable", "your array can be written to. Map the file so that it can only be read.")


def refused(told: dict, kind: str) -> None:
    """NotYet if a bad file, which `kind` describes, did not end in a ValueError."""
    look = f" {LOOK[kind]}" if kind in LOOK else ""
    if told["ended"] == "raised":
        raise NotYet("other-error", f"for a file that {kind}: expected a ValueError, got `{told['error']}`.{look}")
    if told["ended"] == "returned":
        got = "an array" if told["dtype"] else called(told["type"])
        raise NotYet("not-refused", f"for a file that {kind}: expected a ValueError, got {got}.{look}")


# --- snapshots ------------------------------------------------------------------------------------------------
def good_numbers(size: int) -> list[np.ndarray]:
    """One array of `size` bytes, and two small ones."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    return [rng.random(count) for count in (size // 8, int(rng.integers(8, 99)), int(rng.integers(8, 99)))]


def snapshot(
    numbers: np.ndarray,
    first: int = FIRST,
    magic: bytes = MAGIC,
    version: int = VERSION,
    more: int = 0,
    order: int = ORDER,
) -> bytes:
    """The bytes of a snapshot whose numbers begin at byte `first`, by its header at least; it says `more` of them."""
    fields = HEADER.pack(magic, version, order, first, numbers.size + more, 0)[:-4]
    header = fields + zlib.crc32(fields).to_bytes(4, "little") + bytes(4)
    return header + bytes(max(0, first - len(header))) + numbers.tobytes()[max(0, len(header) - first) :]


def bad_snapshots() -> dict[str, bytes]:
    """What is wrong with each -> its bytes. Each breaks one rule."""
    pick = secrets.randbelow
    numbers = np.random.default_rng(pick(2**32)).random(16 + pick(64))
    good = snapshot(numbers)
    at = pick(len(MAGIC))
    foreign = MAGIC[:at] + bytes([MAGIC[at] ^ 1 + pick(255)]) + MAGIC[at + 1 :]
    end = HEADER.size - 4
    return {
        "is empty": b"",
        "ends within its header": good[: 1 + pick(HEADER.size - 1)],
        "has another magic": snapshot(numbers, magic=foreign),
        "has another version": snapshot(numbers, version=2 + pick(9)),
        "comes from a machine with the other byte order": snapshot(
            numbers.byteswap(), order=int.from_bytes(ORDER.to_bytes(4, "little"), "big")
        ),
        "has a header that was damaged": snapshot(numbers[1:], FIRST + 8)[:end] + good[end:],
        "has its numbers inside the header": snapshot(numbers, 8 * (1 + pick(4))),
        "has its numbers at an odd place": snapshot(numbers, FIRST + 1 + pick(7)),
        "has 2^61 numbers, by its header": snapshot(numbers, more=2**61),
        "was cut short": good[: -1 - pick(64)],
        "is a byte longer": good + bytes([pick(256)]),
        "has a number after its end": snapshot(np.append(numbers, 1.0), more=-1),
    }
