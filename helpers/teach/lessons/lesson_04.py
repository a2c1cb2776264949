"""Lesson 04, copy a page only on write: its exercises and quizzes."""

import mmap
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...make import random_file
from ...measure import PageState, Recording, maps, measure, page_map
from ...measure.workers import workers
from ...units import KiB, MiB, in_words
from ..carried import lesson_04 as carried
from ..carried import some
from ..exercises import Attempt, Exercise, Verdict
from ..quizzes import Choice, Quiz
from . import reports
from .shared import called, is_a_number, on_a_file, right_for_each

Crowd = tuple[list[dict[str, int]], list[dict[str, int]]]  # a dict of bytes for each worker: before, after


# --- 04.workers -----------------------------------------------------------------------------------------------
COUNT, SHARE = 4, 1.1


def check_workers(attempt: Attempt) -> Verdict:
    """Every worker has the right array, and all together take at most 1.1 times the data."""
    path, data = numbers(attempt)
    size, stamp = data.nbytes, path.stat()
    wanted = {"sum": float(data.sum()), "some": some(data)}
    one = np.float64(1)  # see carried.opened
    alone = attempt.measure(carried.opened, str(path), one, memory_limit=4 * size + 64 * MiB)
    stopped = attempt.unless_returned(alone)
    if stopped:
        return stopped
    why = harmed(path, stamp) or not_the_array(alone.value, data.size, wanted)
    if why:
        return Verdict("not yet", why, recording=alone)
    own = "each has a copy of its own. Where do all processes find the same bytes, without a copy?"
    if without := maps.why_not():
        if not alone.value["mapped"]:
            return Verdict("not yet", f"the array is right, but of several workers {own}", recording=alone)
        done = (
            "The array is right, and it lies in a map. What workers share is not measured here, so the budget was not"
        )
        return Verdict("right", f"{done}: {without}", (f"{data.size:,} numbers",), alone)
    crowd = workers(carried.opened, attempt.function, str(path), one, count=COUNT, timeout=attempt.timeout)
    ill = next((row for row in crowd.rows if row.ended != "returned"), None)
    why = harmed(path, stamp) or (ill and f"alone it worked, but of {COUNT} at once, {ill.name} ended so: {ill.ended}.")
    if why:
        return Verdict("not yet", why, recording=alone)
    pss, anonymous = crowd.total("pss"), crowd.total("anonymous")
    figures = (
        f"{COUNT} workers: {in_words(pss, 'bytes')} of PSS together (budget {in_words(SHARE * size, 'bytes')})",
        f"{in_words(crowd.total('rss'), 'bytes')} of RSS",
        f"{in_words(anonymous, 'bytes')} anonymous",
    )
    if pss <= SHARE * size:
        done = f"{COUNT} workers have the whole array, and together it takes {pss / size:.3g} times its size."
        return Verdict("right", done, figures, alone)
    begin = f"the array is right, but {COUNT} workers together take {pss / size:.3g} times its size"
    why = (
        f"{begin}. It lies in a private map, and yet {in_words(anonymous, 'bytes')} are anonymous: somebody writes to "
        "it, and each page that is written is copied, even if it gets the bytes that it had."
        if alone.value["mapped"]
        else f"{begin}: {own}"
    )
    return Verdict("not yet", why, figures, alone)


def numbers(attempt: Attempt) -> tuple[Path, np.ndarray]:
    """A .npy file that the student's code has not seen. Multiples of 1/256 from 0 to 1: their sum is exact."""
    count = attempt.size // 8 + secrets.randbelow(64 * KiB)
    data = np.random.default_rng(secrets.randbelow(2**32)).integers(0, 256, count) / 256
    path = attempt.folder / "weights.npy"
    with path.open("wb") as file:
        np.save(file, data)
        file.flush()
        os.fsync(file.fileno())  # pages of a file just written are dirty, whoever maps them
    return path, data


def harmed(path: Path, before: os.stat_result) -> str | None:
    """Was the file cut, changed, or removed?"""
    if not path.is_file():
        return "the file is gone."
    now = path.stat()
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        return "somebody has written to the file. The workers only have to read it: open it so that they cannot."
    return None


def not_the_array(told: dict, count: int, wanted: dict) -> str | None:
    """None if it is the file's array; else what it is instead."""
    if told["dtype"] is None:
        named = called(told["type"])
        return f"it returned {named}. The workers want the array itself."
    if told["dtype"] != "float64":
        return (
            f"the numbers in the file are `float64`, yours are `{told['dtype']}`. To convert them is to copy them all."
        )
    length = told["shape"][0] if len(told["shape"]) == 1 else None
    if length == count + 16:
        return "your array has 16 numbers too many, at its beginning: they are the header of the .npy file, 128 bytes."
    if length != count:
        return f"your array has the shape {told['shape']}; in the file there are {count:,} numbers, in one dimension."
    if (told["sum"], told["some"]) != (wanted["sum"], wanted["some"]):
        return "the array has the right length, but not the numbers of the file. Where in the file do they begin?"
    return None


WORKERS = Exercise(
    key="04.workers",
    title="four workers, one array",
    minutes=12,
    prompt="""
Four worker processes score requests with the same weights, an array of 64 MiB and a bit in a .npy file. Each of them
calls your `load(path)` once and keeps what it returns. Then it adds up the whole array, so every page is touched.

Write `load(path)` so that four workers take little more memory than one.

- It returns the array: one dimension, float64, all of its numbers. The file stays as it is.
- The PSS of all four workers together may grow by at most 1.1 times the size of the array.

The check makes a new file, starts four fresh interpreters, and reads what each of them has in its smaps_rollup.
""",
    starter='''def load(path):
    """The array in the .npy file, such that workers share its pages."""
    ...
''',
    judge=check_workers,
    hints=(
        "Pages of the page cache are there once, however many processes map them. Which of numpy's ways to open a "
        "file makes an array that lies in a mapping?",
        'Read the documentation of `np.load`: one of its parameters maps the file. Of its values, `"r"` is the one '
        "that can neither change the file nor make a copy of a page.",
    ),
    solution_source='''def load(path):
    """The array in the .npy file, such that workers share its pages."""
    import numpy as np

    return np.load(path, mmap_mode="r")
''',
    wrong=(
        (
            """def load(path):
    import numpy as np
    return np.load(path)
""",
            "each has a copy of its own",
        ),
        (
            """def load(path):
    import numpy as np
    return np.array(np.load(path, mmap_mode="r"))
""",
            "each has a copy of its own",
        ),
        (
            """def load(path):
    import numpy as np
    return np.fromfile(path)
""",
            "16 numbers too many, at its beginning",
        ),
        (
            """def load(path):
    import numpy as np
    return np.memmap(path, dtype="f8", mode="r")[:-16]
""",
            "Where in the file do they begin?",
        ),
        (
            """def load(path):
    import numpy as np
    return np.load(path, mmap_mode="r").astype("f4")
""",
            "To convert them is to copy them all",
        ),
        (
            """def load(path):
    import numpy as np
    weights = np.load(path, mmap_mode="c")
    return np.clip(weights, 0, 1, out=weights)
""",
            "each page that is written is copied, even if it gets the bytes that it had",
        ),
        (
            """def load(path):
    import numpy as np
    weights = np.load(path, mmap_mode="r+")
    return np.clip(weights, 0, 1, out=weights)
""",
            "somebody has written to the file",
        ),
        (
            """def load(path):
    import numpy as np
    return np.load(path, mmap_mode="r").sum()
""",
            "your array has the shape ()",
        ),
        (
            """def load(path):
    with open(path, "rb") as f:
        return f.read()
""",
            "returned bytes. The workers want the array itself",
        ),
    ),
    size=64 * MiB,
)


# --- 04.counter -----------------------------------------------------------------------------------------------
ROUNDS, AT_ONCE = 20, 2000


def check_counter(attempt: Attempt) -> Verdict:
    """Four processes count at once, and nothing is lost."""
    if not hasattr(os, "fork"):
        raise OSError("it needs fork and flock, which this system lacks; it runs on Linux and macOS")
    path, begin = attempt.folder / "counter.bin", secrets.randbelow(1000)
    path.write_bytes(begin.to_bytes(8, "little") + bytes(4096 - 8))
    shares = [[5 + secrets.randbelow(10) for _ in range(ROUNDS)] for _ in range(COUNT)]
    wanted = sum(map(sum, shares)) + COUNT * AT_ONCE
    run = attempt.measure(carried.counted, str(path), shares, AT_ONCE, memory_limit=256 * MiB)
    if run.ended == "timed out":
        why = (
            f"the processes were still busy after {attempt.timeout:.0f} s and were stopped. Is one waiting for a lock "
            "that nobody gives back?"
        )
        return Verdict("not yet", why, recording=run)
    error = next(filter(None, run.value or ()), None)
    stopped = attempt.unless_returned(replace(run, ended="raised", error=error) if error else run)
    if stopped:
        return stopped
    content = path.read_bytes() if path.is_file() else b""
    if len(content) != 4096 or any(content[8:]):
        why = "the file has changed beyond its first 8 bytes: its length, or the bytes behind the counter."
        return Verdict("not yet", why, recording=run)
    counted = int.from_bytes(content[:8], "little") - begin
    figures = (f"{COUNT} processes, {wanted:,} increments", f"{counted:,} counted", in_words(run.wall, "seconds"))
    if counted == wanted:
        return Verdict("right", f"{COUNT} processes at once, and none of {wanted:,} increments was lost.", figures, run)
    return Verdict("not yet", miscounted(counted, wanted, names(attempt.function)), figures, run)


def names(function: object) -> set[str]:
    """The names that a function uses, also those inside it."""
    code = getattr(function, "__code__", function)
    found = set(getattr(code, "co_names", ())) | set(getattr(code, "co_varnames", ()))
    return found.union(*(names(inner) for inner in getattr(code, "co_consts", ()) if hasattr(inner, "co_names")))


def miscounted(counted: int, wanted: int, used: set[str]) -> str:
    """What kind of slip it was, as far as the count and the names in the program tell."""
    if counted > wanted:
        return f"the counter has grown by {counted:,}, more than the {wanted:,} increments that were asked for."
    if counted == 0 and not used & {"ACCESS_COPY", "MAP_PRIVATE", "memmap"}:
        return "the counter stands where it stood. Does your function write to the file?"
    if counted == 0:
        return (
            "nothing of it has reached the file: the counter stands where it stood. What is written into a private "
            "map stays in this process's own copy of the page."
        )
    lost = f"{wanted - counted:,} of {wanted:,} increments are lost"
    if "LOCK_SH" in used:
        return (
            f"{lost}. LOCK_SH is a lock that any number of processes can hold at the same time. A writer needs LOCK_EX."
        )
    if used & {"flock", "lockf", "O_EXCL", "O_CREAT"}:
        return (
            f"{lost}, although you take a lock. An increment is three steps: read, add, write. Which of them can "
            "happen while somebody else has the lock?"
        )
    if used & {"threading", "Lock", "RLock"}:
        return (
            f"{lost}. A lock of `threading` is an object in one process, and each process has its own: it keeps out "
            "threads, and no other process."
        )
    return f"{lost}: two processes read the same count, both added 1, and the second wrote over the first."


COUNTER = Exercise(
    key="04.counter",
    title="mend a counter that loses updates",
    minutes=12,
    prompt="""
Workers count the requests that they have served, in a file of 4,096 bytes that all of them map. The first 8 bytes are
the counter, little-endian; the others stay 0. At night the total is always too small.

Mend `add(path, times)`, which adds 1 to the counter, `times` times.

- Four processes call it at once, again and again, and no increment may be lost.
- Each process opens the file by itself. They have nothing in common but the file (and its folder).

The check does not leave it to luck: it makes a process pause now and then between any two steps of your function, as
the kernel may do at any time.
""",
    starter='''def add(path, times):
    """Add 1 to the counter in the file, `times` times."""
    import mmap

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
''',
    judge=check_counter,
    hints=(
        "Follow two processes: both read 7, and both write 8. What must the second one not do before the first has "
        "written?",
        "`fcntl.flock(f, fcntl.LOCK_EX)` waits until nobody else holds the lock of this file, `fcntl.LOCK_UN` gives it "
        "back. Put reading, adding and writing in between.",
    ),
    solution_source='''def add(path, times):
    """Add 1 to the counter in the file, `times` times."""
    import fcntl
    import mmap

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            fcntl.flock(f, fcntl.LOCK_EX)
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
            fcntl.flock(f, fcntl.LOCK_UN)
''',
    wrong=(
        (
            """def add(path, times):
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping, memoryview(mapping).cast("q") as numbers:
        for _ in range(times):
            numbers[0] += 1
""",
            "two processes read the same count",
        ),
        (
            """def add(path, times):
    import numpy as np
    counter = np.memmap(path, dtype="<i8", mode="r+")
    for _ in range(times):
        counter[0] += 1
""",
            "two processes read the same count",
        ),
        (
            """def add(path, times):
    import mmap
    import threading
    lock = threading.Lock()
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            with lock:
                count = int.from_bytes(mapping[:8], "little")
                mapping[:8] = (count + 1).to_bytes(8, "little")
""",
            "A lock of threading is an object in one process",
        ),
        (
            """import threading
lock = threading.Lock()

def add(path, times):
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping, lock:
        for _ in range(times):
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
""",
            "cannot be carried to a fresh interpreter: cannot pickle '_thread.lock' object",
        ),
        (
            """def add(path, times):
    import fcntl
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        for _ in range(times):
            fcntl.flock(f, fcntl.LOCK_EX)
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
            fcntl.flock(f, fcntl.LOCK_UN)
""",
            "nothing of it has reached the file",
        ),
        (
            """def add(path, times):
    with open(path, "rb") as f:
        count = int.from_bytes(f.read(8), "little")
    return count + times
""",
            "Does your function write to the file?",
        ),
        (
            """def add(path, times):
    import fcntl
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            fcntl.flock(f, fcntl.LOCK_EX)
            count = int.from_bytes(mapping[:8], "little")
            fcntl.flock(f, fcntl.LOCK_UN)
            mapping[:8] = (count + 1).to_bytes(8, "little")
""",
            "although you take a lock",
        ),
        (
            """def add(path, times):
    import fcntl
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        count = int.from_bytes(mapping[:8], "little")
        fcntl.lockf(f, fcntl.LOCK_EX)
        mapping[:8] = (count + times).to_bytes(8, "little")
""",
            "although you take a lock",
        ),
        (
            """def add(path, times):
    import fcntl
    import mmap
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            fcntl.flock(f, fcntl.LOCK_SH)
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
            fcntl.flock(f, fcntl.LOCK_UN)
""",
            "any number of processes can hold at the same time",
        ),
        (
            """def add(path, times):
    import mmap
    import os
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            while True:
                try:
                    os.close(os.open(path + ".lock", os.O_CREAT | os.O_EXCL))
                    break
                except FileExistsError:
                    pass
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
""",
            "waiting for a lock that nobody gives back",
        ),
    ),
)


# --- 04.report ------------------------------------------------------------------------------------------------
CROWDS = {
    "list": "read a list of strings that was there before the fork",
    "patches": "change every page of a private map, which they had touched before",
    "array": "read one array that was there before the fork",
    "reads": "each read the same file into memory",
    "maps": "each map the same file and touch every page",
}
CAUSES = ("copied", "own", "lent", "flat")
GROWN = 8 * MiB


def check_report(attempt: Attempt) -> Verdict:
    """Right for four workers of five kinds, started for this check; where they cannot be read, for recorded ones."""
    live = {} if maps.why_not() else live_crowds(attempt)
    crowds: dict[str, Crowd] = {kind: run.value for kind, run in live.items()} or reports.CROWDS
    figures = tuple(f"{kind}: {in_words(taken(crowd), 'bytes')} taken" for kind, crowd in crowds.items())
    where = "that were running a moment ago" if live else "recorded on another machine: they cannot be read here"
    done = f"You read the figures of {COUNT * len(crowds)} workers {where}. The first two kinds did quite different "
    done += "things; to the kernel both wrote to pages that they shared."
    return right_for_each(attempt, crowds, misread, "workers that", CROWDS, done, figures)


def live_crowds(attempt: Attempt) -> dict[str, Recording]:
    """Each kind's four workers; the Recording's value is what they had before and after. OSError if they failed."""
    size = 40 * MiB + mmap.PAGESIZE * secrets.randbelow(8 * MiB // mmap.PAGESIZE)
    path = random_file(attempt.folder / "crowd.bin", size, seed=secrets.randbelow(2**32))
    runs = {kind: measure(carried.crowd, kind, str(path), size, name=kind) for kind in CROWDS}
    ill = next((run for run in runs.values() if run.ended != "returned"), None)
    if ill:
        raise OSError(f"the workers to be explained ({ill.name}) did not run: {ill.ending}")
    return runs


def growth(crowd: Crowd, meter: str) -> int:
    """By how many bytes all workers together grew."""
    before, after = (sum(worker[meter] for worker in moment) for moment in crowd)
    return after - before


def taken(crowd: Crowd) -> int:
    """Bytes that the workers took for themselves: changed, and shared with nobody."""
    return growth(crowd, "private_dirty")


def cause(crowd: Crowd) -> str:
    """Which of CAUSES it is."""
    most = GROWN * len(crowd[0])
    resident = growth(crowd, "rss") > most
    if taken(crowd) > most:
        return "own" if resident else "copied"
    return "lent" if resident else "flat"


def misread(given: object, *crowd: list[dict[str, int]]) -> str | None:
    """None for the right answer; else what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, CAUSES))
        return f"it returned {given!r}. Return two things: the bytes taken, and one of {words}."
    right, word, count = taken(crowd), cause(crowd), len(crowd[0])
    grew = {meter: growth(crowd, meter) for meter in ("rss", "pss", "anonymous")}
    slips = (
        (
            grew["rss"],
            "That is the growth of RSS, which counts a page in full in every process that has it, whoever shares it: "
            "it stays when a shared page is copied, and it grows when a page is lent.",
        ),
        (
            grew["pss"],
            "That is the growth of PSS. It also grows by a worker's part of what all of them share, and it does not "
            "grow by the part that the worker had before its copy.",
        ),
        (
            grew["anonymous"],
            "That is the growth of anonymous memory. What a worker has from a fork is anonymous, too, shared or not: a "
            "copy changes nothing in that figure.",
        ),
        (
            sum(worker["private_dirty"] for worker in crowd[1]),
            "That is what they have at the end. What had they before?",
        ),
    )
    first = crowd[1][0]["private_dirty"] - crowd[0][0]["private_dirty"]
    if given[0] != right:
        told = " ".join(text for figure, text in slips if figure == given[0])
        if given[0] in (right // count, first):
            told = "That is one worker on the average, or the first one alone. Take all of them together."
        told = told or "Which of the four figures counts what one process has changed and shares with nobody?"
        return f"you gave {in_words(given[0], 'bytes')} as taken. {told}"
    if given[1] != word:
        return (
            f"the bytes are right, but not the word {given[1]!r}: for each worker, RSS grew by "
            f"{in_words(grew['rss'] / count, 'bytes')}, and it took {in_words(right / count, 'bytes')} for itself."
        )
    return None


def printed(workers: Sequence[dict[str, int]]) -> str:
    """One line: the first worker's figures, MiB."""
    return "".join(f"{figure / MiB:>15.1f}" for figure in workers[0].values())


REPORT = Exercise(
    key="04.report",
    title="explain workers that grow",
    minutes=12,
    prompt=f"""
A user writes: “Our training job forks four data-loader workers. They only read: the samples are a list of strings that
was loaded before the fork. The dashboard adds up RSS and shows a flat line, and yet the machine runs out of memory.”
One of the workers, right after the fork and when it had read all samples, in MiB (the others are like it):

              {"".join(f"{name:>15}" for name in reports.CROWDS["list"][0][0])}
    after fork{printed(reports.CROWDS["list"][0])}
    at the end{printed(reports.CROWDS["list"][1])}

Write `explain(before, after)`. Both are lists with a dict for each worker, in the same order, with these four names;
the figures are bytes. It returns two things:

- **taken**: bytes that all workers together took for themselves between the two moments, as pages that they have \
changed and share with nobody,
- one word: `"copied"` if they have now for themselves what they had before as well, but shared; `"own"` if they have \
for themselves what is new; `"lent"` if they have more, but not for themselves; `"flat"` if nothing grew.

A figure has grown if it grew by more than 8 MiB for each worker on the average. The check asks your function about
workers that use data in five ways.
""",
    starter='''def explain(before, after):
    """(bytes taken, word) from what each worker had before and after."""
    ...
''',
    judge=check_report,
    hints=(
        "Take the four figures in turn and ask: does it count pages that others have, too? Does it change when a "
        "shared page is copied for one worker? Only one of them answers no and yes.",
        "`taken` is the growth of `private_dirty`, all workers added up. For the word, look at the growth of `rss` "
        "beside it: pages that are new to a worker make it grow, a copy of a page that was there does not.",
    ),
    solution_source='''def explain(before, after):
    """(bytes taken, word) from what each worker had before and after."""

    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)

    taken, more, much = growth("private_dirty"), growth("rss"), 8 * 2**20 * len(before)
    if taken > much:
        return taken, "own" if more > much else "copied"
    return taken, "lent" if more > much else "flat"
''',
    wrong=tuple(
        (
            f"""def explain(before, after):
    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)
    much = 8 * 2**20 * len(before)
    taken = {counted}
    return taken, {word}
""",
            message,
        )
        for counted, word, message in (
            ('growth("rss")', '"own" if taken > much else "flat"', "which counts a page in full in every process"),
            ('growth("pss")', '"copied" if taken > much else "flat"', "the part that the worker had before its copy"),
            (
                'growth("anonymous")',
                '"own" if taken > much else "flat"',
                "What a worker has from a fork is anonymous, too",
            ),
            ('sum(worker["private_dirty"] for worker in after)', '"copied"', "What had they before?"),
            ('growth("private_dirty") // len(before)', '"copied"', "That is one worker on the average"),
            (
                'growth("private_dirty")',
                '"own" if taken > much else "lent" if growth("rss") > much else "flat"',
                "the bytes are right, but not the word 'own'",
            ),
            (
                'growth("private_dirty")',
                '"own" if growth("rss") > much else "copied" if taken > much else "flat"',
                "touch every page: the bytes are right, but not the word 'own'",
            ),
            ('growth("private_dirty"), growth("rss")', '"copied"', "Return two things"),
        )
    ),
)

EXERCISES = (WORKERS, COUNTER, REPORT)


# --- quizzes --------------------------------------------------------------------------------------------------
def copied_unit(path: Path) -> int | None:
    """1 if a byte written into a private map makes one page anonymous, and the page's other bytes are as they were."""
    if maps.why_not():
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        at = 5 * mmap.PAGESIZE + 7
        before = mapping[5 * mmap.PAGESIZE : 6 * mmap.PAGESIZE]
        mapping[at] ^= 255
        mine = page_map(mapping).which(PageState.ANONYMOUS, PageState.FORKED)
        after = mapping[5 * mmap.PAGESIZE : 6 * mmap.PAGESIZE]
    return 1 if mine.tolist() == [5] and sum(a != b for a, b in zip(before, after, strict=True)) == 1 else 0


def counted_references(path: Path) -> int | None:
    """2 if reading a list of strings copies it, with the collector switched off, and reading one array does not."""
    if maps.why_not():
        return None
    size = path.stat().st_size
    took = {kind: taken(measure(carried.crowd, kind, str(path), size).value) for kind in ("list", "array")}
    return 2 if took["list"] > COUNT * size / 2 > 4 * took["array"] else 0


QUIZZES = (
    Quiz(
        "04.unit",
        "You map a file of 64 MiB privately and change one byte of it. What does the kernel copy?",
        (
            Choice(
                "One byte: that is all that differs.",
                False,
                "The page table has an entry for a page, not for a byte. Behind one entry lies one page of memory, and "
                "all of its bytes go with it.",
            ),
            Choice(
                "One page.",
                True,
                "Yes. The page map shows one page anonymous, 4,096 bytes on most machines: one byte is new, and all "
                "the others were copied from the page cache.",
            ),
            Choice(
                "The whole file, when the mapping is made: that is why it is called private.",
                False,
                "Private says who sees your changes. When the mapping is made nothing is copied, not even read.",
            ),
            Choice(
                "Nothing before you flush or close the mapping.",
                False,
                "That is what a shared mapping does with its changes: they reach the disk later. A private one needs "
                "the copy at the first write, because the page behind it is everybody's.",
            ),
        ),
        on_a_file(copied_unit),
    ),
    Quiz(
        "04.readonly",
        "Forked workers only read a list of strings, and after a while each of them has a copy of nearly all of it. "
        "Who writes?",
        (
            Choice(
                "The kernel: it marks in each page that the page was read.",
                False,
                "It does keep such a mark, but in the page table, which every process has for itself. And one array of "
                "as many bytes is read in the same way, and stays shared.",
            ),
            Choice(
                "The garbage collector, when it looks at the objects.",
                False,
                "It writes a little, into containers such as lists and dicts; `gc.freeze` spares you that. But strings "
                "are none of its business, and with the collector switched off the pages are copied all the same.",
            ),
            Choice(
                "Python: to look at an object is to count one more reference to it, and the count is in the object.",
                True,
                "Yes. Each string has its count beside its bytes, so there is a write in every page that holds "
                "strings. An array is one object with one count, however many bytes it shows.",
            ),
            Choice(
                "Nobody: after a fork each process has its own copy anyway.",
                False,
                "A fork copies page tables, not pages. Look at private dirty right after it: there is next to nothing.",
            ),
        ),
        on_a_file(counted_references),
    ),
)
