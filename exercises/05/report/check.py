"""05.report: bytes taken, and the word, for thirteen steps that make an array or a view from
another array.
"""

import secrets
import tomllib
from math import prod
from pathlib import Path

from helpers.measure import maps, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

WORDS = {  # in the order of the prompt's questions, each with what to say if it was missed
    "view": "Nothing was copied: the same bytes are just seen differently.",
    "write": (
        "No new array was made: the result is where the given array was, and its pages became "
        "anonymous."
    ),
    "dtype": "The result has another dtype, so the numbers had to be converted.",
    "fancy": (
        "The new array has fewer numbers. Look at the shapes before the strides, which may have "
        "changed as well."
    ),
    "layout": "All numbers are there, in the same dtype, but in another order in memory.",
    "values": (
        "Dtype, count and order in memory are the same. Only the numbers themselves can be new."
    ),
}


def recorded() -> tuple[dict[str, dict], dict[str, str], dict[str, str]]:
    """The reports of the same steps on another machine, what each step does, and its word."""
    found = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text(encoding="utf-8"))
    does, words = (
        {kind: report.pop(name) for kind, report in found.items()} for name in ("does", "word")
    )
    return {kind: in_tuples(report) for kind, report in found.items()}, does, words


def in_tuples(value: object) -> object:
    """The same report, with its lists as tuples."""
    if isinstance(value, dict):
        return {name: in_tuples(part) for name, part in value.items()}
    return tuple(map(in_tuples, value)) if isinstance(value, list) else value


def judge(attempt: Attempt) -> Verdict:
    """Asks about steps taken for this check, or recorded steps where anonymous memory can't be read
    or differs.
    """
    reports, does, words = recorded()
    where = "recorded on another machine: they can't be measured here"
    live = {} if maps.why_not() else live_steps(attempt)
    if live and all(
        (taken(report) < MiB) == (words[kind] == "view") for kind, report in live.items()
    ):
        reports, where = live, "taken a moment ago"
    figures = tuple(
        f"{kind}: {in_words(taken(r), 'bytes')}" for kind, r in reports.items() if taken(r) > MiB
    )
    done = (
        f"You explained {len(reports)} steps, {where}. A copy is made because something had to "
        "become different."
    )
    cases = {kind: (report,) for kind, report in reports.items()}
    return right_for_each(attempt, cases, misread, "a step that", does, done, figures, words)


def live_steps(attempt: Attempt) -> dict[str, dict]:
    """What a process that took all the steps found. Raises OSError if it failed."""
    shape = (10 * KiB + 8 * secrets.randbelow(128), 1000)
    path = attempt.folder / "weights.bin"
    with path.open("wb") as file:
        file.truncate(4 * prod(shape))  # a hole: zeros that take no room on the disk
    run = measure(steps, str(path), shape, name="the steps")
    if run.ended != "returned":
        raise OSError(f"the steps to be explained did not run: {run.ending}")
    return run.value


def steps(path: str, shape: tuple) -> dict[str, dict]:
    """What's known of each step: what numpy says about the given array and the result, and this
    process's anonymous memory before and after, while the result is kept, from smaps_rollup,
    proc_pid_smaps(5), which is exact.

    Everything made here is larger than 32 MiB, the most that malloc takes from its heap
    (mallopt(3), M_MMAP_THRESHOLD). So freed memory goes back to the kernel, and the next step
    begins where this step did.
    """
    import mmap

    import numpy as np

    def mapped(access):
        with open(path, "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), "f4").reshape(shape)

    def anonymous():
        with open("/proc/self/smaps_rollup") as file:
            return next(
                int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:")
            )

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
        "a part scaled in place": (
            mapped(mmap.ACCESS_COPY),
            lambda given: scale(given[: rows // 4]),
        ),
    }
    reports = {}
    anonymous()  # once beforehand: no step should pay for the first call
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
    """Bytes of anonymous memory that the step took."""
    before, after = report["anonymous"]
    return after - before


def misread(said: object, wanted: str, report: dict) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the report gives it away."""
    if not isinstance(said, tuple) or len(said) != 2 or not is_a_number(said[0]):
        raise NotYet(
            "other-type", f"expected the bytes taken and one of {', '.join(WORDS)}; got {said}."
        )
    if said[0] != taken(report) and not (said[0] == 0 and wanted == "view"):
        before, after = report["anonymous"]
        half = "the words" if said[1] == wanted else ""
        begin = (
            f"you gave {said[0]:,} bytes as taken; anonymous memory was {before:,} bytes before,"
            f" {after:,} after."
        )
        if said[0] == after:
            raise NotYet(
                "at-the-end", f"{begin} That includes what the process had before.", half=half
            )
        if said[0] == 0 and report["shares_memory"]:
            why = f"{begin} In a private mapping, each page that is written to is copied."
            raise NotYet("shared-is-free", why, half=half)
        raise NotYet(
            "wrong-taken", f"{begin} The size of an array doesn't tell what was copied.", half=half
        )
    if said[1] != wanted:
        why = f"the bytes are right, but the word {said[1]!r} isn't. {WORDS[wanted]}"
        raise NotYet("wrong-word", why, half="the bytes")
