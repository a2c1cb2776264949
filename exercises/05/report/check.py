"""05.report: bytes taken, and the word, for thirteen steps that make an array, or a view, of another."""

import secrets
import tomllib
from math import prod
from pathlib import Path

import numpy as np

from helpers.measure import maps, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

KINDS = {
    "every other row": "takes every other row",
    "transposed": "transposes the array",
    "repeated": "shows the array four times, with np.broadcast_to",
    "as integers": "looks at the same bytes as integers",
    "asked for float32": "asks for float32, with astype and copy=False",
    "converted, a part kept": "converts the array to float64 and keeps the first eight rows",
    "transposed and flat": "makes one dimension of a transposed array",
    "put in order": "makes a transposed array contiguous",
    "rows picked": "picks rows by an array of their numbers",
    "columns picked": "picks columns by an array of their numbers",
    "scaled": "multiplies all numbers by 2",
    "scaled in place": "multiplies all numbers by 2, in place",
    "a part scaled in place": "multiplies a quarter of the rows by 2, in place, and returns them",
}
WORDS = {  # in the order in which they are asked for, each with what is said where it was missed
    "view": "Nothing was copied, so there is no copy to explain: the same bytes are only seen differently.",
    "write": "Nobody made a new array: the result lies where the array given lay, and its pages became anonymous.",
    "dtype": "The result has another dtype, so the numbers had to be converted. In the list this comes first.",
    "fancy": "Some numbers are missing, and those that were picked lie in a new array. Compare how many there are: the "
    "strides may have changed as well.",
    "layout": "All numbers are there, in the same dtype, but in another order in memory.",
    "values": "Dtype, number and order in memory are the same. Only the numbers can be new.",
}


def recorded() -> dict[str, dict]:
    """The reports of the same steps on another machine."""
    found = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text())
    return {
        kind: {
            "dtype": tuple(report["dtype"]),
            "shape": tuple(map(tuple, report["shape"])),
            "strides": tuple(map(tuple, report["strides"])),
            "shares_memory": report["shares_memory"],
            "anonymous": tuple(kb * KiB for kb in report["anonymous"]),
        }
        for kind, report in found.items()
    }


def judge(attempt: Attempt) -> Verdict:
    """Of steps taken for this check; where anonymous memory cannot be read, of recorded ones."""
    live = {} if maps.why_not() else live_steps(attempt)
    reports = live or recorded()
    figures = tuple(f"{kind}: {in_words(taken(one), 'bytes')}" for kind, one in reports.items() if taken(one) > MiB)
    where = "taken a moment ago" if live else "recorded on another machine: they cannot be measured here"
    done = f"You explained {len(reports)} steps, {where}. A copy is made because something had to become different."
    cases = {kind: (report,) for kind, report in reports.items()}
    return right_for_each(attempt, cases, misread, "a step that", KINDS, done, figures)


def live_steps(attempt: Attempt) -> dict[str, dict]:
    """What a process found that took all the steps. OSError if it failed."""
    shape = (10 * KiB + 8 * secrets.randbelow(128), 1000)
    path = attempt.folder / "weights.bin"
    with path.open("wb") as file:
        file.truncate(4 * prod(shape))  # a hole: zeros that take no room on the disk
    run = measure(steps, str(path), shape, name="the steps")
    if run.ended != "returned":
        raise OSError(f"the steps to be explained did not run: {run.ending}")
    return run.value


def steps(path: str, shape: tuple) -> dict[str, dict]:
    """What is known of each step: numpy's word about the array given and the array made, and the anonymous memory of
    this process before and after, while the step's result is kept. smaps_rollup, proc_pid_smaps(5), which is exact.

    Everything made here is larger than 32 MiB, the most that malloc takes from its heap (mallopt(3), M_MMAP_THRESHOLD):
    so what is let go is given back, and the next step begins where this one did.
    """
    import mmap

    import numpy as np

    def mapped(access):
        with open(path, "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), "f4").reshape(shape)

    def anonymous():
        with open("/proc/self/smaps_rollup") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:"))

    def scale(layer):
        layer *= 2
        return layer

    layer, (rows, columns) = mapped(mmap.ACCESS_READ), shape
    made = {
        "every other row": (layer, lambda given: given[::2]),
        "transposed": (layer, lambda given: given.T),
        "repeated": (layer, lambda given: np.broadcast_to(given, (4, *shape))),
        "as integers": (layer, lambda given: given.view("i4")),
        "asked for float32": (layer, lambda given: given.astype("f4", copy=False)),
        "converted, a part kept": (layer, lambda given: given.astype("f8")[:8]),
        "transposed and flat": (layer.T, lambda given: given.reshape(-1)),
        "put in order": (layer.T, np.ascontiguousarray),
        "rows picked": (layer, lambda given: given[np.arange(rows // 8, rows)]),
        "columns picked": (layer, lambda given: given[:, np.arange(columns // 8, columns)]),
        "scaled": (layer.T, lambda given: given * 2),
        "scaled in place": (mapped(mmap.ACCESS_COPY), scale),
        "a part scaled in place": (mapped(mmap.ACCESS_COPY), lambda given: scale(given[: rows // 4])),
    }
    reports = {}
    anonymous()  # once beforehand: what a first time costs is not a step's
    for kind, (given, step) in made.items():
        before = anonymous()
        result = step(given)
        reports[kind] = {
            "dtype": (str(given.dtype), str(result.dtype)),
            "shape": (given.shape, result.shape),
            "strides": (given.strides, result.strides),
            "shares_memory": np.may_share_memory(given, result),
            "anonymous": (before, anonymous()),
        }
        del result
    return reports


def taken(report: dict) -> int:
    """Bytes of anonymous memory that the step has taken."""
    before, after = report["anonymous"]
    return after - before


def word(report: dict) -> str:
    """Which of WORDS it is: the first that applies."""
    (dtype, made), (shape, other), (strides, orders) = report["dtype"], report["shape"], report["strides"]
    applies = (
        taken(report) < MiB,
        report["shares_memory"],
        dtype != made,
        prod(shape) != prod(other),
        strides != orders,
        True,
    )
    return list(WORDS)[applies.index(True)]


def misread(given: object, report: dict) -> None:
    """NotYet says what the slip was, as far as the report tells."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, WORDS))
        raise NotYet("other-type", f"it returned {given!r}. Return two things: the bytes taken, and one of {words}.")
    right = word(report)
    if given[0] != taken(report) and not (given[0] == 0 and right == "view"):
        cause, why = miscounted(given[0], report)
        raise NotYet(cause, f"you gave {in_words(given[0], 'bytes')} as taken. {why}")
    if given[1] != right:
        raise NotYet("wrong-word", f"the bytes are right, but not the word {given[1]!r}. {WORDS[right]}")


def miscounted(given: float, report: dict) -> tuple[str, str]:
    """Cause and words for bytes that are not those taken."""
    lent, made = (
        prod(shape) * np.dtype(dtype).itemsize for shape, dtype in zip(report["shape"], report["dtype"], strict=True)
    )
    if given == report["anonymous"][1]:
        return "at-the-end", "That is what the process had after the step. What did it have before?"
    if given == 0 and report["shares_memory"]:
        why = "What shares memory can cost memory, too: in a private map each page that is written is copied."
        return "shared-is-free", why
    if given == made:
        why = (
            "That is what the result shows. A view shows bytes that were there before, and a small view may keep a "
            "large array. Look at the memory of the process."
        )
        return "what-is-shown", why
    if given == lent:
        why = "That is the size of the array that was given. The step may have copied more than that, or less."
        return "what-was-given", why
    return "wrong-taken", "Which two figures count copied bytes?"
