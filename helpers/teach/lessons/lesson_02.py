"""Lesson 02, copy a big file: its exercises and quizzes."""

import os
import secrets
import shutil
import sys
from pathlib import Path

from ...make import random_file
from ...measure import Recording, measure
from ...measure.plain import fields
from ...units import KiB, MiB, in_words
from ..carried import lesson_02 as carried
from ..exercises import Attempt, Exercise, Verdict, first_difference, kinds_are_told_apart, within
from ..quizzes import Choice, Quiz
from . import reports
from .shared import called, is_a_number, on_a_file, right_for_each

BUDGET = 8 * MiB


# --- 02.chunks ------------------------------------------------------------------------------------------------
def fresh_file(attempt: Attempt) -> tuple[Path, Path]:
    """A source that the student's code has not seen, not a multiple of any chunk, and its twin that it never sees."""
    size = attempt.size + 1 + secrets.randbelow(MiB - 1)
    free = shutil.disk_usage(attempt.folder).free
    if free < 3 * size:
        raise OSError(
            f"it needs {in_words(3 * size, 'bytes')} in {attempt.folder.parent}, and {in_words(free, 'bytes')} are free"
        )
    source = random_file(attempt.folder / "source.bin", size, seed=secrets.randbelow(2**32))
    return source, Path(shutil.copyfile(source, attempt.folder / "twin.bin"))


def check_copy(attempt: Attempt) -> Verdict:
    """Equal to the source, the source unharmed, and at most 8 MiB of anonymous memory."""
    source, twin = fresh_file(attempt)
    target = attempt.folder / "target.bin"
    most = 2 * attempt.size + 64 * MiB
    run = attempt.measure(carried.copied, source, target, most, memory_limit=4 * attempt.size + 64 * MiB)
    stopped = attempt.unless_returned(run) or harmed(source, twin, run)
    if stopped:
        return stopped
    if not target.is_file():
        return Verdict("not yet", "there is no file at `target`. Open it with `'wb'` and write to it.", recording=run)
    if target.samefile(source):
        return Verdict("not yet", "`target` is the source by another name (a link), not a copy.", recording=run)
    why = difference(twin, target)
    return Verdict("not yet", why, recording=run) if why else within(run, BUDGET, "The copy equals its source")


def harmed(source: Path, twin: Path, run: Recording) -> Verdict | None:
    """Did the source survive?"""
    if not source.is_file():
        return Verdict("not yet", "the source is gone. A copy leaves two files.", recording=run)
    at = first_difference(source, twin)
    if at is None:
        return None
    return Verdict("not yet", f"the source was changed, from byte {at:,} on. Open it with `'rb'`.", recording=run)


def difference(source: Path, target: Path) -> str | None:
    """Where they differ, and what kind of slip makes such a difference."""
    at, wanted, found = first_difference(source, target), source.stat().st_size, target.stat().st_size
    if at is None:
        return None
    begin = f"source and copy differ from byte {at:,} on."
    if at == found < wanted:
        return (
            f"{begin} There the copy ends; {wanted - found:,} bytes are missing. One call may move less than "
            "you asked for: go on until nothing is left."
        )
    if at == wanted < found:
        return (
            f"{begin} There the source ends, and the copy has {found - wanted:,} bytes more. The last read fills only "
            "a part of the buffer: write only that part."
        )
    return f"{begin} The source has {wanted:,} bytes, the copy {found:,}."


ONE_CALL = (
    (
        (
            """def copy_small(source, target):
    import os
    with open(source, "rb") as f, open(target, "wb") as g:
        os.sendfile(g.fileno(), f.fileno(), 0, 2**20)
""",
            "differ from byte 1,048,576 on",
        ),
    )
    if sys.platform == "linux"  # elsewhere it is missing, or wants a socket
    else ()
)

CHUNKS = Exercise(
    key="02.chunks",
    title="copy a file that does not fit",
    minutes=12,
    prompt="""
Your service copies model files of any size in a container that has little memory to spare.
Write `copy_small(source, target)`. It takes two paths and makes `target` equal to `source`.

- The file has 256 MiB and a bit. Your process may take at most 8 MiB of anonymous memory.
- Any way that keeps to this is right.

The check makes a new file, runs your function in a fresh process, and compares the copy with its source byte by byte.
""",
    starter='''def copy_small(source, target):
    """Make `target` equal to `source`, within 8 MiB of anonymous memory."""
    ...
''',
    judge=check_copy,
    hints=(
        "`f.read(n)` gives at most n bytes, and `b''` at the end of the file. How many must be in memory at once? "
        "(`data = f.read(n)` in a loop holds two chunks for a moment: the new one is made before the old one goes.)",
        "Make one `bytearray` before the loop. `n = f.readinto(buffer)` fills it and says how many bytes are new; "
        "`memoryview(buffer)[:n]` is these bytes, without a copy. The loop ends when n is 0.",
    ),
    solution_source='''def copy_small(source, target):
    """Make `target` equal to `source`, within 8 MiB of anonymous memory."""
    buffer = memoryview(bytearray(2**20))
    with open(source, "rb", buffering=0) as f, open(target, "wb") as g:
        while n := f.readinto(buffer):
            g.write(buffer[:n])
''',
    wrong=(
        (
            """def copy_small(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        g.write(f.read())
""",
            "of anonymous memory at its peak; the budget is 8 MiB",
        ),
        (
            """def copy_small(source, target):
    buffer = bytearray(2**20)
    with open(source, "rb") as f, open(target, "wb") as g:
        while f.readinto(buffer):
            g.write(buffer)
""",
            "bytes more. The last read fills only a part of the buffer",
        ),
        (
            """def copy_small(source, target):
    import os
    with open(source, "rb") as f, open(target, "wb") as g:
        for _ in range(os.path.getsize(source) // 2**20):
            g.write(f.read(2**20))
""",
            "bytes are missing. One call may move less",
        ),
        *ONE_CALL,
        (
            """def copy_small(source, target):
    with open(source, "rb") as f, open(target, "w") as g:
        while chunk := f.read(2**20):
            g.write(chunk)
""",
            "raised TypeError: write() argument must be str, not bytes, in line 4",
        ),
        (
            """def copy_small(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        while True:
            g.write(f.read(2**20))
""",
            "still running after",
        ),
        (
            """def copy_small(source, target):
    buffer = bytearray(2**20)
    with open(source, "rb") as f, open(target, "wb") as g:
        while True:
            f.readinto(buffer)
            g.write(buffer)
""",
            "wrote on and on",
        ),
        (
            """def copy_small(source, target):
    import os
    os.replace(source, target)
""",
            "the source is gone",
        ),
        (
            """def copy_small(source, target):
    import os
    os.link(source, target)
""",
            "the source by another name",
        ),
    ),
)


# --- 02.hidden ------------------------------------------------------------------------------------------------
def check_load(attempt: Attempt) -> Verdict:
    """A bytearray equal to the file, with a peak of at most 1.1 times the file."""
    source, twin = fresh_file(attempt)
    size, into = source.stat().st_size, attempt.folder / "loaded.bin"
    limit = 5 * attempt.size + 64 * MiB
    run = attempt.measure(carried.loaded, source, into, 2 * size + 64 * MiB, memory_limit=limit)
    stopped = attempt.unless_returned(run) or harmed(source, twin, run)
    if stopped:
        return stopped
    kind, length = run.value
    if kind != "bytearray":
        return Verdict(
            "not yet",
            f"it returned {called(kind)}. {NOT_A_BYTEARRAY.get(kind, BYTEARRAY)}",
            recording=run,
        )
    if length != size:
        why = f"the bytearray has {length:,} bytes, the file {size:,}."
        return Verdict("not yet", why, recording=run)
    at = first_difference(twin, into)
    if at is not None:
        why = f"bytearray and file differ from byte {at:,} on. Did every byte arrive?"
        return Verdict("not yet", why, recording=run)
    return within(run, int(1.1 * size), "The bytearray equals the file")


BYTEARRAY = "The caller wants a `bytearray` of its own."
NOT_A_BYTEARRAY = {
    "bytes": "That one cannot be changed in place. " + BYTEARRAY,
    "mmap": "That one is a mapping of the file: it cannot grow, and it lives only as long as the file stays as it is. "
    + BYTEARRAY,
    "memoryview": "That one is a view of something else. " + BYTEARRAY,
}

HIDDEN = Exercise(
    key="02.hidden",
    title="find the hidden second copy",
    minutes=10,
    prompt="""
This function loads a file so that its bytes can be changed in place:

    def load(path):
        with open(path, "rb") as f:
            return bytearray(f.read())

When it has returned, a counter shows exactly the size of the file. Yet the container was killed: for a file of 1 GiB
the peak was 2 GiB. Find the second one, and write `load(path)` without it.

- It returns a `bytearray` with all bytes of the file.
- At its peak it may take at most 1.1 times the size of the file.
""",
    starter='''def load(path):
    """All bytes of the file as a bytearray, within 1.1 times its size."""
    ...
''',
    judge=check_load,
    hints=(
        "`f.read()` makes an object, and `bytearray(…)` makes another from it. Until when do both exist?",
        "Make the `bytearray` first, as large as the file (`os.path.getsize(path)`), and let `f.readinto` fill it.",
    ),
    solution_source='''def load(path):
    """All bytes of the file as a bytearray, within 1.1 times its size."""
    import os

    data = bytearray(os.path.getsize(path))
    with open(path, "rb") as f:
        f.readinto(data)
    return data
''',
    wrong=(
        (
            """def load(path):
    with open(path, "rb") as f:
        return bytearray(f.read())
""",
            "of anonymous memory at its peak; the budget is",
        ),
        (
            """def load(path):
    with open(path, "rb") as f:
        return f.read()
""",
            "returned bytes. That one cannot be changed in place",
        ),
        (
            """def load(path):
    import mmap
    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), 0)
""",
            "returned mmap. That one is a mapping of the file",
        ),
        (
            """def load(path):
    chunks = []
    with open(path, "rb") as f:
        while chunk := f.read(2**20):
            chunks.append(chunk)
    return bytearray(b"".join(chunks))
""",
            "of anonymous memory at its peak; the budget is",
        ),
        (
            """def load(path):
    import os
    data = bytearray(os.path.getsize(path))
    with open(path, "rb") as f:
        data[:] = f.read()
    return data
""",
            "of anonymous memory at its peak; the budget is",
        ),
        (
            """def load(path):
    data = bytearray(2**20)
    with open(path, "rb") as f:
        f.readinto(data)
    return data
""",
            "the bytearray has 1,048,576 bytes, the file",
        ),
        (
            """def load(path):
    import os
    return bytearray(os.path.getsize(path))
""",
            "differ from byte",
        ),
    ),
)


# --- 02.report ------------------------------------------------------------------------------------------------
KINDS = {
    "read": "reads a file into memory",
    "map": "maps a file and touches every page",
    "map, untouched": "maps a file and touches nothing",
    "share": "fills memory that it shares with others",
    "read and map": "reads a file, and maps it too",
}
WORDS = ("page cache", "own memory", "both")


def check_report(attempt: Attempt) -> Verdict:
    """Right for the status of five processes, started for this check; where there is no /proc, for recorded ones."""
    live = live_reports(attempt) if kinds_are_told_apart() else {}
    texts = {kind: run.value for kind, run in live.items()} or reports.RECORDED
    figures = tuple(
        f"{kind}: {in_words(seen.peak.file, 'bytes')} file-backed, "
        f"{in_words(seen.peak.anonymous + seen.peak.shared, 'bytes')} its own"
        for kind, seen in live.items()
    )
    where = (
        "processes that were running a moment ago" if live else "processes recorded on another machine: no /proc here"
    )
    cases = {kind: (text,) for kind, text in texts.items()}
    done = f"You read the reports of {len(cases)} {where}."
    return right_for_each(attempt, cases, misread, "a process that", KINDS, done, figures)


def live_reports(attempt: Attempt) -> dict[str, Recording]:
    """Each kind's process, measured; the Recording's value is the status that it read of itself."""
    size = 48 * MiB + 4 * KiB * secrets.randbelow(8192)
    path = random_file(attempt.folder / "report.bin", size, seed=secrets.randbelow(2**32))
    return {kind: measure(carried.report, kind, str(path), size, name=kind) for kind in KINDS}


def read_right(text: str) -> tuple[int, int, str]:
    """Lent bytes, own bytes, and the word."""
    found = fields(text)
    lent, own = found["RssFile"], found["RssAnon"] + found["RssShmem"]
    word = WORDS[0] if lent >= 0.75 * (lent + own) else WORDS[1] if own >= 0.75 * (lent + own) else WORDS[2]
    return lent, own, word


def misread(given: object, text: str) -> str | None:
    """None for the right answer; else what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(is_a_number, given[:2])):
        words = ", ".join(map(repr, WORDS))
        return f"it returned {given!r}. Return three things: lent bytes, own bytes, and one of {words}."
    found, (lent, own, word) = fields(text), read_right(text)
    own_slips = {
        found["VmRSS"]: "`VmRSS` is all that is resident, lent or owned. High is not the same as owned: "
        f"of these {in_words(found['VmRSS'], 'bytes')}, {in_words(lent, 'bytes')} are the page cache's.",
        found["VmSize"]: "`VmSize` is address space: what was promised, not what is there.",
        found["RssAnon"]: "you left out `RssShmem`. No file holds these bytes, so the kernel cannot drop them; only "
        "swap could take them.",
    }
    lent_slips = {
        found["VmRSS"]: "`VmRSS` counts what is owned, too. The kernel cannot take that back.",
        found["VmSize"]: "`VmSize` is address space: what is not there cannot be taken back.",
        found["RssFile"] + found["RssShmem"]: "`RssShmem` is not lent: no file holds these bytes, so the kernel "
        "cannot drop them.",
    }
    for name, number, right, slips in (("lent", given[0], lent, lent_slips), ("own", given[1], own, own_slips)):
        if number == right:
            continue
        if right in (round(number * 1024), round(number * 1.024)):
            return f"you gave {number:,} {name} bytes. A `kB` in /proc means 1,024 bytes."
        told = slips.get(number, "Which of the lines that begin with Rss belong here?")
        return f"you gave {in_words(number, 'bytes')} as {name}. {told[0].upper()}{told[1:]}"
    if given[2] != word:
        share = lent / (lent + own)
        return f"the bytes are right, but not the word {given[2]!r}: {share:.0%} of what is resident is lent."
    return None


REPORT = Exercise(
    key="02.report",
    title="read a report from the field",
    minutes=12,
    prompt=f"""
A user writes: “I only map my model file, as you told me, and the dashboard says my server uses 78 MiB. Something leaks!
Here is /proc/<pid>/status:”

{chr(10).join("    " + line.expandtabs(10) for line in reports.RECORDED["map"].splitlines())}

Write `explain(report)`. It takes such a text and returns three things:

- **lent**: bytes that the kernel could take back from this process, because a file holds them too,
- **own**: the other resident bytes, which no file holds: only the process can give them back,
- one word: `"page cache"` if at least three quarters of the two together are lent, `"own memory"` if at least three \
quarters are own, else `"both"`.

Take all file-backed pages as lent: whether some still have to be written to the disk first, this report does not say.
The check asks your function about five processes that hold memory in five ways.
""",
    starter='''def explain(report):
    """(lent bytes, own bytes, word) from the text of a /proc/<pid>/status."""
    ...
''',
    judge=check_report,
    hints=(
        "VmRSS is a sum of three lines of the report. Which of the three has a file behind it?",
        "`RssFile` is lent. `RssAnon` and `RssShmem` are own: shared memory has no file to be read from again. "
        "Each line is a name, a number, and kB, which means 1,024 bytes there.",
    ),
    solution_source='''def explain(report):
    """(lent bytes, own bytes, word) from the text of a /proc/<pid>/status."""
    lines = (line.split() for line in report.splitlines())
    size = {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}
    lent, own = size["RssFile:"], size["RssAnon:"] + size["RssShmem:"]
    share = lent / (lent + own)
    return lent, own, "page cache" if share >= 0.75 else "own memory" if share <= 0.25 else "both"
''',
    wrong=tuple(
        (
            f"""def explain(report):
    lines = (line.split() for line in report.splitlines())
    size = {{words[0]: int(words[1]) * {unit} for words in lines if words[-1:] == ["kB"]}}
    lent, own = {lent}, {own}
    share = lent / (lent + own)
    return lent, own, {word}
""",
            message,
        )
        for lent, own, unit, word, message in (
            ('size["RssFile:"]', 'size["VmRSS:"]', 1024, '"both"', "High is not the same as owned"),
            ('size["RssFile:"]', 'size["VmSize:"]', 1024, '"both"', "what was promised, not what is there"),
            (
                'size["RssFile:"]',
                'size["RssAnon:"]',
                1024,
                '"page cache" if share >= 0.75 else "own memory" if share <= 0.25 else "both"',
                "You left out RssShmem",
            ),
            (
                'size["RssFile:"] + size["RssShmem:"]',
                'size["RssAnon:"]',
                1024,
                '"page cache" if share >= 0.75 else "own memory" if share <= 0.25 else "both"',
                "RssShmem is not lent",
            ),
            ('size["RssFile:"]', 'size["RssAnon:"] + size["RssShmem:"]', 1000, '"both"', "means 1,024 bytes"),
            ('size["RssFile:"]', 'size["RssAnon:"] + size["RssShmem:"]', 1024, '"page cache"', "not the word"),
        )
    ),
)

EXERCISES = (CHUNKS, HIDDEN, REPORT)


# --- quizzes --------------------------------------------------------------------------------------------------
def counted(path: Path) -> int | None:
    """1 if the heap counter sees a buffer and not the mapping beside it, whose pages are file-backed."""

    def map_and_count(path):
        import mmap
        import time

        buffer = bytearray(2**20)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            touched = sum(mapping[at] for at in range(0, len(mapping), 4096))
            time.sleep(0.05)  # so that the last pages are seen from outside
            return touched + len(buffer)

    run = measure(map_and_count, path, heap=True)
    if run.peak.file is None or run.heap_peak is None:
        return None
    seen, size = MiB <= run.heap_peak < 2 * MiB, path.stat().st_size
    return 1 if seen and run.peak.file > 0.9 * size and run.peak.anonymous < 0.2 * size else 0


def hopped(path: Path) -> int | None:
    """2 if the same reads of 8 KiB make a wait for every chunk only where each of them hops to another thread."""

    def here(path):
        with open(path, "rb", buffering=0) as file:
            while file.read(8192):
                pass

    def in_a_pool(path):
        import asyncio

        async def chunks():
            with open(path, "rb", buffering=0) as file:
                while await asyncio.to_thread(file.read, 8192):
                    pass

        asyncio.run(chunks())

    stay, hop = measure(here, path), measure(in_a_pool, path)
    chunks = path.stat().st_size / 8192
    if hop.switches.voluntary is None:
        return None
    return 2 if hop.switches.voluntary > chunks / 2 > 10 * stay.switches.voluntary and hop.wall > 3 * stay.wall else 0


def dirty(path: Path) -> int | None:
    """3 if a mapped source's pages are clean, and those of a file just written are dirty until they are synced."""

    def kinds(path):
        import mmap
        import os
        import re

        def written_only(path):
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
                before = _dirty(re, open)
                for at in range(0, len(mapping), 4096):
                    mapping[at]
                return (_dirty(re, open) - before) / len(mapping)

        def _dirty(re, open):
            with open("/proc/self/smaps_rollup") as file:
                return sum(int(n) * 1024 for n in re.findall(r"(?:Private|Shared)_Dirty:\s+(\d+)", file.read()))

        target = f"{path}.copy"
        with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m, open(target, "wb") as g:
            g.write(m)
            g.flush()
            source, unsynced = written_only(path), written_only(target)
            os.fsync(g.fileno())
            return source, unsynced, written_only(target)

    if not os.path.exists("/proc/self/smaps_rollup"):
        return None
    source, unsynced, synced = measure(kinds, path).value
    return 3 if source < 0.1 and unsynced > 0.8 and synced < 0.1 else 0


QUIZZES = (
    Quiz(
        "02.counter",
        "A heap counter printed 1024 after a copy of 1 GiB by mapping. Why so little?",
        (
            Choice(
                "The mapping reads the file through a window of 1,024 bytes.",
                False,
                "There is no window. The whole file got addresses at once, and each page came when it was touched: "
                "look at the file-backed column, it goes up to the size of the file.",
            ),
            Choice(
                "It counts what is asked of the allocator, and a mapping is asked of the kernel.",
                True,
                "Yes. The mapping passed the counter by. The 1,024 bytes are the buffer that the program's first "
                "printed line made: they have nothing to do with the copy.",
            ),
            Choice(
                "It counts pages that were copied, and a mapping copies only 1,024 of them.",
                False,
                "It counts bytes, not pages, and only those requested from the allocator. As to copies: the kernel "
                "did copy every byte once, from the source's pages to the target's.",
            ),
            Choice(
                "The pages were given back before the counter looked.",
                False,
                "That hides many a peak, and you meet one in an exercise. But here the counter would have seen "
                "nothing at any moment: pages of a file never come from the allocator.",
            ),
        ),
        on_a_file(counted),
    ),
    Quiz(
        "02.hops",
        "Async copying with chunks of 8 KiB takes little memory and many seconds. Where do the seconds go?",
        (
            Choice(
                "To the disk: 8 KiB at a time is too little for it.",
                False,
                "The file is in the page cache, and the kernel reads ahead in far larger pieces than you ask for. A "
                "plain loop with the same 8 KiB is many times faster.",
            ),
            Choice(
                "To the allocator: each chunk is a new object.",
                False,
                "A chunk of 8 KiB is made in well under a microsecond, and the memory of the last one is used again.",
            ),
            Choice(
                "To hops: each chunk goes to a worker thread and back, and each time somebody has to be woken.",
                True,
                "Yes. The column of waits shows it: one or two for every hop, where the plain loop has next to none. "
                "Larger chunks make fewer hops; that is why 1 MiB chunks cost a fraction of the time.",
            ),
            Choice(
                "To copying: an async read copies every byte more often.",
                False,
                "Read and write copy the same bytes here as in the plain loop: once out of the page cache, once into "
                "it. Count the calls: they are the same, too.",
            ),
        ),
        on_a_file(hopped),
    ),
    Quiz(
        "02.lent",
        "You have mapped a file, written the mapping to a new file, and synced nothing. The kernel runs short of "
        "memory. What can it take back at once?",
        (
            Choice(
                "Nothing: your process holds the mapping.",
                False,
                "A mapping holds addresses, not pages. The kernel may take a page away at any time; the next touch "
                "brings it back from the file.",
            ),
            Choice(
                "The anonymous pages of the process.",
                False,
                "These have no file to be read from again. Without swap they stay until the process gives them back.",
            ),
            Choice(
                "All pages of both files.",
                False,
                "Both lie in the page cache, but the new file's bytes are nowhere else yet. They must be written to "
                "the disk first: such pages are called dirty.",
            ),
            Choice(
                "The pages of the source; those of the new file only when they have been written to the disk.",
                True,
                "Yes. The source's pages are clean: the disk has the same bytes. The new file's pages are dirty until "
                "the kernel, or your fsync, has written them.",
            ),
        ),
        on_a_file(dirty),
    ),
)
