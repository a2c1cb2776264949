"""Lesson 03, choose between read and mmap: its exercises and quizzes."""

import mmap
import secrets
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ...make import random_file
from ...measure import PageCache, Recording, cache, measure, page_cache
from ...units import KiB, MiB, in_words
from ..carried import lesson_03 as carried
from ..exercises import Attempt, Exercise, Verdict
from ..quizzes import Choice, Quiz
from . import reports
from .shared import called, on_a_file, right_for_each

PAGE = mmap.PAGESIZE


def is_cold(path: Path) -> bool:
    """Drops a file from the page cache; has it worked?"""
    cached = cache.drop_from_cache(path).share
    return cached is not None and cached < 0.01


# --- 03.lookup ------------------------------------------------------------------------------------------------
POSITIONS = 256
ROOM = 1.5  # times the pages that hold these bytes


def check_lookup(attempt: Attempt) -> Verdict:
    """The right bytes, and from a cold file at most 1.5 times the pages that hold them."""
    source = random_file(attempt.folder / "source.bin", attempt.size, seed=secrets.randbelow(2**32))
    positions = [secrets.randbelow(attempt.size) for _ in range(POSITIONS)]
    needed = PAGE * len({at // PAGE for at in positions})
    limit, numpy_is_here = 4 * attempt.size + 64 * MiB, np.int64(0)
    warm = attempt.measure(carried.looked_up, source, positions, numpy_is_here, memory_limit=limit)
    stopped = attempt.unless_returned(warm)
    if stopped:
        return stopped
    why = not_these_bytes(warm.value, source, positions)
    if why:
        return Verdict("not yet", why, recording=warm)
    why_not = no_device_meter(source, positions, needed)
    if why_not:
        done = f"These are the bytes. What came from the disk cannot be judged here: {why_not}."
        return Verdict("right", done, (in_words(warm.wall, "seconds"),), warm)
    is_cold(source)
    run = attempt.measure(carried.looked_up, source, positions, numpy_is_here, memory_limit=limit)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    came, asked, budget = run.io.device_read_bytes, run.io.read_bytes, int(ROOM * needed)
    figures = (
        f"{in_words(came, 'bytes')} from the disk (budget {in_words(budget, 'bytes')})",
        f"{in_words(asked, 'bytes')} by read calls",
        f"{run.faults.major:,} major faults",
    )
    if came <= budget:
        return Verdict("right", f"{in_words(came, 'bytes')} came from the disk, a page for a byte.", figures, run)
    if asked > attempt.size / 2:
        why = "Your calls read the file as a whole."
    elif asked > POSITIONS * PAGE / 2:
        each = in_words(asked / POSITIONS, "bytes")
        why = (
            f"Your calls asked for {each} at each place, where one byte would do. (Your program does not ask for so "
            "much? Then Python does: a buffered file fills its buffer, whatever you want of it.)"
        )
    else:
        why = (
            "Your program did not ask for so much: around each missing page the kernel read ahead. Only you know "
            "that nobody will want the neighbours. Tell it, before the first touch."
        )
    begin = f"the bytes are right, but {in_words(came, 'bytes')} came from the disk for {len(positions)} bytes; "
    return Verdict("not yet", f"{begin}the budget is {in_words(budget, 'bytes')}. {why}", figures, run)


def not_these_bytes(found: object, source: Path, positions: list[int]) -> str | None:
    """What is wrong with the result; None if it is right."""
    if not isinstance(found, bytes):
        return f"it returned {called(found)}. Return `bytes`, one for each position."
    content = np.memmap(source, np.uint8, "r")
    wanted = content[positions].tobytes()
    if found == wanted:
        return None
    if len(found) != len(wanted):
        return f"it returned {len(found)} bytes for {len(wanted)} positions. Some may be asked for twice."
    if found == content[sorted(positions)].tobytes():
        return "these are the bytes in the order of the file. Give them in the order of the positions."
    at = next(i for i, (one, other) in enumerate(zip(found, wanted, strict=True)) if one != other)
    return f"byte number {at} of the result should be the one at position {positions[at]:,}, and is not."


def no_device_meter(source: Path, positions: list[int], needed: int) -> str | None:
    """None if a cold file can be made here, and one page for a byte is what a careful program reads; else why not."""
    if not is_cold(source):
        return "the file could not be dropped from the page cache"
    run = measure(carried.load, "look up, advised", str(source), positions)
    came = run.io.device_read_bytes
    if came is None:
        return "this machine does not count bytes from the device"
    if not 0.9 * needed <= came <= (1 + ROOM) / 2 * needed:
        return f"where a careful program needs {in_words(needed, 'bytes')}, the counter says {in_words(came, 'bytes')}"
    return None


def lookup_by(line: str, advice: str = "") -> str:
    """An answer to 03.lookup by a mapping."""
    return f"""def lookup(path, positions):
    import mmap
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        {advice}
        {line}
"""


BYTES = "return bytes(mapping[at] for at in positions)"
COSTLY = (
    (
        """def lookup(path, positions):
    import numpy as np
    return np.memmap(path, "u1", "r")[positions].tobytes()
""",
        "around each missing page the kernel read ahead",
    ),
    (
        """def lookup(path, positions):
    import os
    file = os.open(path, os.O_RDONLY)
    return b"".join(os.pread(file, 4096, at)[:1] for at in positions)
""",
        "where one byte would do",
    ),
    (lookup_by(BYTES), "around each missing page the kernel read ahead"),
    (lookup_by(BYTES, "mapping.madvise(mmap.MADV_SEQUENTIAL)"), "around each missing page the kernel read ahead"),
    (lookup_by(BYTES, "mapping.madvise(mmap.MADV_WILLNEED)"), "the kernel read ahead"),
    (
        lookup_by("mapping.madvise(mmap.MADV_RANDOM)\n        return found", BYTES.replace("return", "found =")),
        "Tell it, before the first touch",
    ),
    (
        """def lookup(path, positions):
    with open(path, "rb") as file:
        data = file.read()
    return bytes(data[at] for at in positions)
""",
        "Your calls read the file as a whole",
    ),
    (
        """def lookup(path, positions):
    found = b""
    with open(path, "rb") as file:
        for at in positions:
            file.seek(at)
            found += file.read(1)
    return found
""",
        "a buffered file fills its buffer",
    ),
)
LOOKUP = Exercise(
    key="03.lookup",
    title="a page for a byte",
    minutes=12,
    prompt=f"""
A file of 128 MiB holds an index. A request asks for {POSITIONS} single bytes, anywhere in it. The file is cold: none \
of it is in the page cache, and somebody pays for every byte that comes from the disk.

Write `lookup(path, positions)`. It returns the bytes at these positions, as `bytes`, in the order of the positions.

- At most one and a half times the pages that hold these bytes may come from the disk: about 1.5 MiB.
- Any way that keeps to this is right.

The check runs your function on a warm file for its result, then on a cold one, and reads how many bytes the disk gave.
""",
    starter='''def lookup(path, positions):
    """The bytes at these positions, for little more than a page each."""
    ...
''',
    judge=check_lookup,
    hints=(
        "Try a plain mapping first, and look at what came from the disk. Your program touched one page at a time. Who "
        "asked for the rest, and how could it know that you do not want it?",
        "Before the first touch: `mapping.madvise(mmap.MADV_RANDOM)`. Without a mapping: `os.pread(fd, 1, at)`, or a "
        "file opened with `buffering=0`.",
    ),
    solution_source='''def lookup(path, positions):
    """The bytes at these positions, for little more than a page each."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        mapping.madvise(mmap.MADV_RANDOM)
        return bytes(mapping[at] for at in positions)
''',
    wrong=(
        *(COSTLY if sys.platform == "linux" else ()),  # elsewhere nobody counts what the disk gave
        (
            lookup_by(BYTES.replace("positions", "sorted(positions)"), "mapping.madvise(mmap.MADV_RANDOM)"),
            "Give them in the order of the positions",
        ),
        (lookup_by("return [mapping[at] for at in positions]"), "it returned list"),
    ),
    size=128 * MiB,
)


# --- 03.window ------------------------------------------------------------------------------------------------
RESIDENT = 16 * MiB
WINDOWS = {  # in the order in which they are judged: the first one missed names the slip
    "start": "the largest window is the first one: it begins at byte 0",
    "middle": "a window may begin in one piece of the file and end in the next",
    "multiple": "a window may begin in one piece of the file and end in the next",
    "late": "a window may begin with the last byte of a piece, and the rest of it lies in the next",
    "end": "the largest window is the last one: it ends where the file ends",
}


def check_window(attempt: Attempt) -> Verdict:
    """The largest sum of each of five files, and at most 16 MiB resident, lent or owned."""
    width = 48 * KiB + 2 * secrets.randbelow(8 * KiB) + 1
    files = {where: with_largest(attempt, where, width) for where in WINDOWS}
    paths, wanted = [path for path, _ in files.values()], [most for _, most in files.values()]
    limit = 4 * attempt.size + 64 * MiB
    run = attempt.measure(carried.largest, paths, width, np.int64(0), memory_limit=limit)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    only_multiples = run.value != wanted and run.value == [largest_at_multiples(path, width) for path in paths]
    for where, found in zip(files, run.value, strict=True):
        why = not_the_largest(found, where, *files[where], width, only_multiples)
        if why:
            return Verdict("not yet", why, recording=run)
    peak, allowed = run.peak, in_words(RESIDENT, "bytes")
    kinds = (("anonymous", peak.anonymous), ("file-backed", peak.file))
    figures = (
        f"{in_words(peak.resident, 'bytes')} resident at its peak (budget {allowed})",
        *(f"{in_words(most, 'bytes')} {kind}" for kind, most in kinds if most is not None),
    )
    if peak.resident <= RESIDENT:
        done = f"The {len(wanted)} sums are right, and never more than {in_words(peak.resident, 'bytes')} was there."
        return Verdict("right", done, figures, run)
    why = (
        f"the sums are right, but {in_words(peak.resident, 'bytes')} was resident at the peak; the budget is {allowed}."
    )
    if (peak.anonymous or 0) > RESIDENT / 2:
        why += (
            " Most of that is anonymous. How much of the file must be in memory of your own at once? (A running sum "
            "takes 8 bytes for each byte of the file.)"
        )
    elif peak.file is not None:
        why += (
            " Most of that is lent, and the kernel could take it back. But it does so only when memory is short: until "
            "then each page that was touched stays in your page table. Give back what you are done with, as you go."
        )
    return Verdict("not yet", why, figures, run)


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


def not_the_largest(found: object, where: str, path: Path, wanted: int, width: int, only_multiples: bool) -> str | None:
    """What is wrong with the result for one file; None if it is right."""
    if not isinstance(found, int):
        return f"it returned {called(found)}. Return a whole number."
    if found == wanted:
        return None
    if 0 < found < 2**16:
        bits = 8 if found < 2**8 else 16
        most = f"A number of {bits} bits holds no more than {2**bits - 1:,}"
        return f"it returned {found:,}. {most}: sum with a larger `dtype`."
    if only_multiples:
        why = f"You looked only at windows that begin at a multiple of {width:,}. They begin at every byte."
    else:
        why = f"{WINDOWS[where][0].upper()}{WINDOWS[where][1:]}."
    than = "smaller" if found < wanted else "larger"
    size = in_words(path.stat().st_size, "bytes")
    return f"in a file of {size} it found {found:,}, {than} than the right {wanted:,}. {why}"


def largest_at_multiples(path: Path, width: int) -> int:
    """The largest sum of the windows that begin at a multiple of `width`."""
    content = np.memmap(path, np.uint8, "r")
    return int(content[: len(content) // width * width].reshape(-1, width).sum(axis=1, dtype=np.int64).max())


def pieces_by(opened: str, piece: str, after: str = "", sums: str = "insert(np.cumsum(part, dtype=np.int64), 0, 0)"):
    """An answer to 03.window that goes through what is `opened` in pieces of 64 KiB, each with `width` bytes more."""
    return f"""def largest_sum(path, width):
    import mmap
    import os
    import numpy as np
    best, size = 0, os.path.getsize(path)
    with open(path, "rb") as file:
        data = {opened}
    for at in range(0, size - width + 1, 2**16):
        part = {piece}
        sums = np.{sums}
        best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
        {after}
    return best
"""


MAPPED = "mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)"
PART = "np.frombuffer(data, np.uint8, min(2**16 + width - 1, size - at), at)"
BACK = "data.madvise(mmap.MADV_DONTNEED)"
WINDOW = Exercise(
    key="03.window",
    title="walk through a file that must not stay",
    minutes=15,
    prompt="""
A file of 128 MiB holds a long recording, one byte a sample. Where is it loudest? Write `largest_sum(path, width)`. It \
returns the largest sum of `width` bytes in a row. Such a window may begin at any byte, as long as all of it lies in \
the file. (`width` is between 48 and 64 KiB, and odd.)

Your job runs on a cluster that ends jobs by their resident memory, and does not ask what of it is lent.

- At its peak your process may have at most 16 MiB more resident than before, of all kinds together.
- Any way that keeps to this is right. numpy is loaded already and does not count.

For an array `a` that fits into memory, this would do:

    sums = np.insert(np.cumsum(a, dtype=np.int64), 0, 0)
    largest = (sums[width:] - sums[:-width]).max()

The check asks your function about five files.
""",
    starter='''def largest_sum(path, width):
    """The largest sum of `width` bytes in a row, within 16 MiB of memory."""
    ...
''',
    judge=check_window,
    hints=(
        "Go through the file in pieces. With a mapping a piece can be cut out anywhere, but its pages stay. With "
        "`read` nothing stays, but a window that begins in one piece and ends in the next is yours to see to.",
        "Each piece must begin with the last `width - 1` bytes of the one before. Read: keep them, and put the new "
        "ones behind. Map: cut pieces that overlap, and after each `mapping.madvise(mmap.MADV_DONTNEED)`; on a file "
        "that is only read nothing is lost by it. A piece of 128 KiB is large enough: its running sum takes 1 MiB.",
    ),
    solution_source='''def largest_sum(path, width):
    """The largest sum of `width` bytes in a row, within 16 MiB of memory."""
    import numpy as np

    best, kept = 0, b""
    with open(path, "rb") as file:
        while piece := file.read(2**17):
            part = kept + piece
            sums = np.insert(np.cumsum(np.frombuffer(part, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
            kept = part[-(width - 1) :]
    return best
''',
    wrong=(
        (pieces_by(MAPPED, PART), "each page that was touched stays in your page table"),
        (pieces_by(MAPPED, PART).replace("return best", f"{BACK}; return best"), "Give back what you are done with"),
        (pieces_by("file.read()", PART), "How much of the file must be in memory of your own at once"),
        (
            """def largest_sum(path, width):
    import numpy as np
    a = np.memmap(path, np.uint8, "r")
    sums = np.insert(np.cumsum(a, dtype=np.int64), 0, 0)
    return (sums[width:] - sums[:-width]).max()
""",
            "it was stopped when it had taken",
        ),
        (
            """def largest_sum(path, width):
    import numpy as np
    best = 0
    with open(path, "rb") as file:
        while piece := file.read(2**17):
            sums = np.insert(np.cumsum(np.frombuffer(piece, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
    return best
""",
            "A window may begin in one piece of the file and end in the next",
        ),
        (
            """def largest_sum(path, width):
    best = 0
    with open(path, "rb") as file:
        while len(window := file.read(width)) == width:
            best = max(best, sum(window))
    return best
""",
            "They begin at every byte",
        ),
        (pieces_by(MAPPED, PART, BACK, "cumsum(part, dtype=np.int64)"), "The largest window is the first one"),
        (pieces_by(MAPPED, PART.replace("size - at", "size - 1 - at"), BACK), "The largest window is the last one"),
        (pieces_by(MAPPED, PART.replace("width - 1", "width - 2"), BACK), "begin with the last byte of a piece"),
        (
            """def largest_sum(path, width):
    import numpy as np
    best = 0
    with open(path, "rb") as file:
        while piece := file.read(8 * width):
            sums = np.insert(np.cumsum(np.frombuffer(piece, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
    return best
""",
            "A window may begin in one piece of the file and end in the next",
        ),
        (
            """def largest_sum(path, width):
    import numpy as np
    best, kept = 0, b""
    with open(path, "rb") as file:
        while piece := file.read(2**17):
            part = kept + piece
            sums = np.insert(np.cumsum(np.frombuffer(part, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
            kept = part[-(width - 2) :]
    return best
""",
            "A window may begin in one piece of the file and end in the next",
        ),
        (pieces_by(MAPPED, PART, BACK, "insert(np.cumsum(part, dtype=np.uint8), 0, 0)"), "holds no more than 255"),
        (pieces_by(MAPPED, PART, BACK, "insert(np.cumsum(part, dtype=np.uint16), 0, 0)"), "holds no more than 65,535"),
        ("def largest_sum(path, width):\n    return True\n", "it returned bool. Return a whole number"),
    ),
    size=128 * MiB,
)


# --- 03.report ------------------------------------------------------------------------------------------------
LOADS = {
    "read, cold": "reads a cold file as a whole",
    "map, cold": "maps a cold file and walks through it",
    "look up, cold": "looks up single bytes in the mapping of a cold file",
    "look up, advised, cold": "does the same with the advice “random”",
    "map, warm": "maps a warm file and walks through it",
    "look up, warm": "looks up single bytes in the mapping of a warm file",
    "read, warm": "reads a warm file as a whole",
}
CAUSES = ("disk", "read-ahead", "faults", "copy")
FIELDS = {
    "size": "bytes of the file",
    "used": "bytes that the program used, in whole pages",
    "cached_before": "bytes of the file that were in the page cache before",
    "device_bytes": "bytes that the disk gave",
    "read_calls": "how many read calls the program made; loading a module of Python's is one",
    "bytes_by_calls": "bytes that these calls copied to it",
    "major_faults": "page faults that waited for the disk",
    "minor_faults": "the other page faults",
    "seconds": "how long it took",
}


def check_explain(attempt: Attempt) -> Verdict:
    """The cause of seven loads, made for this check; where a cold file cannot be had, of recorded ones."""
    loads = live_loads(attempt)
    live = causes_of(loads) == causes_of(reports.LOADS)  # not so if the kernel took a warm file's pages meanwhile
    loads = loads if live else reports.LOADS
    figures = tuple(
        f"{kind}: {in_words(one['device_bytes'], 'bytes')} from the disk for {in_words(one['used'], 'bytes')}"
        for kind, one in loads.items()
    )
    where = "made a moment ago" if live else "recorded on another machine: here no file could be made cold"
    cases = {kind: (load,) for kind, load in loads.items()}
    done = f"You explained {len(cases)} loads {where}."
    return right_for_each(attempt, cases, misexplained, "a program that", LOADS, done, figures)


def live_loads(attempt: Attempt) -> dict[str, dict[str, float]]:
    """The counters of each load; {} where a file cannot be dropped from the page cache, or the disk is not counted."""
    size = 16 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "load.bin", size, seed=secrets.randbelow(2**32))
    places, found = [secrets.randbelow(size) for _ in range(256)], {}
    for kind in LOADS:
        how, _, warmth = kind.rpartition(", ")
        if warmth == "warm":
            path.read_bytes()
        elif not is_cold(path):
            return {}
        before = page_cache(path)
        found[kind] = counters(measure(carried.load, how, str(path), places, name=kind), before)
        if None in found[kind].values():
            return {}
    return found


def counters(run: Recording, before: PageCache) -> dict[str, float]:
    """What an exercise's report of one load holds; FIELDS says what each is."""
    return {
        "size": before.size,
        "used": run.value,
        "cached_before": None if before.count is None else min(before.size, before.count * PAGE),
        "device_bytes": run.io.device_read_bytes,
        "read_calls": run.io.read_calls,
        "bytes_by_calls": run.io.read_bytes,
        "major_faults": run.faults.major,
        "minor_faults": run.faults.minor,
        "seconds": run.wall,
    }


def cause(report: dict[str, float]) -> str:
    """The right word, by the rules of the prompt."""
    if report["device_bytes"] > 2 * report["used"]:
        return "read-ahead"
    if report["device_bytes"] >= report["used"] / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= report["used"] / 2 else "faults"


def causes_of(loads: Mapping[str, dict[str, float]]) -> dict[str, str]:
    return {kind: cause(one) for kind, one in loads.items()}


def misexplained(given: object, report: dict[str, float]) -> str | None:
    """None for the right word; else what speaks against the one that was given."""
    right = cause(report)
    if given == repr(right):
        return None
    if given not in map(repr, CAUSES):
        return f"it returned {given}. Return one of {', '.join(map(repr, CAUSES))}."
    came, used, called = (in_words(report[name], "bytes") for name in ("device_bytes", "used", "bytes_by_calls"))
    if right == "read-ahead":
        why = f"the disk gave {came}, and the program used {used}. Most of what it waited for, it never wanted."
    elif right == "disk" and given == "'read-ahead'":
        why = f"the disk gave {came}, and the program used {used}. That is not more than twice as much."
    elif right == "disk":
        why = f"of {used} that it used, the disk gave {came}. The bytes had to come first, and that is what takes long."
        if given == "'faults'":
            why += " How many faults there were does not say how much came: one fault may bring hundreds of pages."
        if given == "'copy'":
            why += " The calls did copy, too, but after they had waited."
    elif given in ("'disk'", "'read-ahead'"):
        why = f"the disk gave {came} for {used} that were used. The bytes were in memory already."
    elif right == "copy":
        why = f"the calls copied {called} of {used} that were used. Nothing was left for faults to bring."
    else:
        why = f"the calls copied only {called} of {used} that were used. How did the program reach the others?"
    return f"you say {given}, but {why}"


def as_code(report: dict[str, float]) -> str:
    """A report, as code of a prompt."""
    return "\n".join(f'    "{name}": {report[name]},' for name in FIELDS)


def explain_by(rules: Iterable[tuple[str, str]], last: str) -> str:
    """An answer to 03.report: the first rule that holds gives the word."""
    lines = "".join(f'    if {rule}:\n        return "{word}"\n' for rule, word in rules)
    return f'def explain(report):\n    r = report\n{lines}    return "{last}"\n'


DISK = ('2 * r["used"] >= r["device_bytes"] >= r["used"] / 2', "disk")
AHEAD = ('r["device_bytes"] > 2 * r["used"]', "read-ahead")
COPIED = ('r["bytes_by_calls"] >= r["used"] / 2', "copy")
COUNTED = ('r["read_calls"] < 3 and r["major_faults"] * 4096 < r["used"] / 2', "faults")
ANY = ('r["device_bytes"] > 2**16', "disk")
REPORT = Exercise(
    key="03.report",
    title="why is mmap slower here?",
    minutes=10,
    prompt=f"""
A user writes: “Everybody says that mmap is faster than read. I changed our loader, and the first requests take longer \
than before!” The counters of one load:

{as_code(reports.LOADS["look up, cold"])}

{chr(10).join(f"- `{name}`: {meaning}" for name, meaning in FIELDS.items())}

Write `explain(report)`. It takes such a dictionary and says in one word what the time went into:

- `"read-ahead"`: the disk gave more than twice the bytes that were used,
- `"disk"`: it gave at least half of what was used, and no more than twice. Nothing is wrong: a cold file takes time,
- `"copy"`: it gave less, because the bytes were in memory already, and calls copied at least half of what was used,
- `"faults"`: the bytes were in memory already, and the program reached them through a mapping.

The check asks your function about seven loads. Most of the counters mislead in at least one of them.
""",
    starter='''def explain(report):
    """ "read-ahead", "disk", "copy" or "faults", from the counters of one load."""
    ...
''',
    judge=check_explain,
    hints=(
        "First ask where the bytes came from, then how the program reached them. Which counter is the disk's, and with "
        "what must it be compared: with the file, or with what was used?",
        "Compare `device_bytes` with 2 × `used`, then with `used` / 2. Only if the disk gave less than that, compare "
        "`bytes_by_calls` with `used` / 2. You need nothing else.",
    ),
    solution_source='''def explain(report):
    """ "read-ahead", "disk", "copy" or "faults", from the counters of one load."""
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if came >= used / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
''',
    wrong=(
        (explain_by([('r["cached_before"] < r["size"] / 2', "disk"), COPIED], "faults"), "it never wanted"),
        (explain_by([COPIED, AHEAD, DISK], "faults"), "but after they had waited"),
        (explain_by([AHEAD, ('r["read_calls"] < 2', "faults"), DISK], "copy"), "one fault may bring hundreds of pages"),
        (explain_by([AHEAD, COUNTED], "disk"), "How many faults there were does not say how much came"),
        (explain_by([('r["device_bytes"] >= r["size"] / 2', "disk"), COPIED], "faults"), "it never wanted"),
        (explain_by([AHEAD, ANY, ('r["read_calls"] > 0', "copy")], "faults"), "How did the program reach the others"),
        (explain_by([AHEAD, DISK], "faults"), "Nothing was left for faults to bring"),
        (explain_by([], "mmap"), "Return one of"),
    ),
)

EXERCISES = (LOOKUP, WINDOW, REPORT)


# --- quizzes --------------------------------------------------------------------------------------------------
def ahead(path: Path) -> int | None:
    """2 if one byte of a cold mapping brings many pages, and next to none once the kernel was advised not to guess."""
    brought = []
    for how in ("look up", "look up, advised"):
        if not is_cold(path):
            return None
        measure(carried.load, how, str(path), [path.stat().st_size // 2])
        brought.append(int(page_cache(path).cached.sum()))
    usual, advised = brought
    if usual < 2:  # a disk for which read-ahead is switched off
        return None
    return 2 if usual > 2 * advised else 0


def entered(path: Path) -> int | None:
    """1 if a walk through a mapping makes next to no calls, and the process waits for page after page."""
    if not is_cold(path):
        return None
    run = measure(carried.load, "look up, advised", str(path), list(range(0, path.stat().st_size, 8 * PAGE)))
    if run.io.read_calls is None or not run.faults.major:
        return None
    return 1 if run.faults.major > 10 * run.io.read_calls and run.switches.voluntary > 10 * run.io.read_calls else 0


def outlived(path: Path) -> int | None:
    """1 if the second process needs no disk, and the page cache held the file when no process had it."""
    if not is_cold(path):
        return None
    first, between = measure(carried.load, "read", str(path), []), page_cache(path).share
    second, size = measure(carried.load, "read", str(path), []), path.stat().st_size
    came, again = first.io.device_read_bytes, second.io.device_read_bytes
    if came is None or came < size / 2:  # not counted, or a file system that lies in memory
        return None
    return 1 if again < size / 20 and between > 0.9 else 0


QUIZZES = (
    Quiz(
        "03.ahead",
        "You read one byte of a cold mapping, without any advice. Afterwards many pages of the file are in the page "
        "cache. Who asked for them?",
        (
            Choice(
                "Python's mmap, which reads the file in large blocks.",
                False,
                "It reads nothing. Look at the read calls: there are none. All it did was to touch an address.",
            ),
            Choice(
                "The disk, which cannot give less than that.",
                False,
                "It can give a single page: with the advice “random” it does.",
            ),
            Choice(
                "Nobody. The kernel guessed that you would go on, and read ahead.",
                True,
                "Yes. Most programs do go on, and then the next pages are there already. When you jump about, the "
                "guess is wrong, and you pay for pages that you never touch. `madvise` tells the kernel.",
            ),
            Choice(
                "The processor, which fetches ahead what lies behind an address.",
                False,
                "It does fetch ahead, lines of 64 bytes, and only from pages that are in memory. It knows nothing of "
                "disks.",
            ),
        ),
        on_a_file(ahead),
    ),
    Quiz(
        "03.switch",
        "“A mapping needs no system calls, so the kernel never holds my program up.” What is left out?",
        (
            Choice(
                "Opening and mapping the file are system calls.",
                False,
                "True, but that is a handful for a whole file. Something else happens all along the way.",
            ),
            Choice(
                "Touching a page that is not in the page table stops the program, and the kernel has to see to it.",
                True,
                "Yes: a page fault. It enters the kernel as a call does, only that no line of your program shows it. "
                "If the page must come from the disk, the program waits, and all its thread can do is wait, too.",
            ),
            Choice(
                "Every slice of a mapping is a read call in disguise.",
                False,
                "The counter of read calls stands still. What a slice does is copy bytes from addresses to addresses; "
                "the kernel is needed only where there is no page.",
            ),
            Choice(
                "Nothing. That is why mappings are faster.",
                False,
                "Look at the faults and at the waits of a walk through a cold mapping: there are some of both, "
                "with next to no call.",
            ),
        ),
        on_a_file(entered),
    ),
    Quiz(
        "03.outlive",
        "A process reads a file and ends. A minute later another one reads it, and the disk is not asked for a single "
        "byte. Where were the bytes in between?",
        (
            Choice(
                "In the memory of the first process, which nobody had tidied up.",
                False,
                "That memory goes back to the kernel when the process ends, and is wiped before anybody else gets it.",
            ),
            Choice(
                "In the page cache, which belongs to no process.",
                True,
                "Yes. When the first process read, the kernel put the pages there and copied them to the process. The "
                "copy is gone, the pages are not. They stay until the memory is wanted for something else.",
            ),
            Choice(
                "In a buffer of Python's file object.",
                False,
                "That lay in the first process, and is gone with it. And it never held more than a small piece.",
            ),
            Choice(
                "In the disk's own memory.",
                False,
                "Disks have some. But the counter counts what was asked of the disk, wherever the disk took it from, "
                "and the second process asked for nothing.",
            ),
        ),
        on_a_file(outlived),
    ),
)
