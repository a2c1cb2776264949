"""Lesson 01, see a page: its exercises and quizzes."""

import mmap
import secrets
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ...make import random_file
from ...measure import PageState, maps, measure
from ...measure.plain import fields
from ...units import KiB, MiB, in_words
from ..carried import lesson_01 as carried
from ..exercises import Attempt, Exercise, Verdict, first_difference, kinds_are_told_apart
from ..quizzes import Choice, Quiz
from . import reports
from .shared import is_a_number, on_a_file, right_for_each

PAGE = mmap.PAGESIZE
PAGES = 66  # of the file of 01.yours; the last one is not full
MINE = (PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)


# --- 01.yours -------------------------------------------------------------------------------------------------
def check_yours(attempt: Attempt) -> Verdict:
    """Exactly these pages are anonymous, every byte reads as in the file, and the file is as it was."""
    size = (PAGES - 1) * PAGE + 1 + secrets.randbelow(PAGE - 1)
    source = random_file(attempt.folder / "source.bin", size, seed=secrets.randbelow(2**32))
    twin = Path(shutil.copyfile(source, attempt.folder / "twin.bin"))
    # Never page 0, and no two neighbours: so a slip shows what kind of slip it is.
    wanted = [*secrets.SystemRandom().sample(range(2, PAGES - 3, 3), 7), PAGES - 1]
    why_not = maps.why_not()
    run = attempt.measure(carried.made_yours, source, wanted, twin, not why_not, memory_limit=256 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    told = run.value
    at = first_difference(twin, source)
    why = (
        f"the file was changed, from byte {at:,} on. Your mapping is a shared one, and what you write there is "
        "written to the file. A private one makes a copy first: `access=mmap.ACCESS_COPY`."
        if at is not None
        else no_mapping(told, size)
    )
    states = told["states"]
    why = why or (states and not_these(states, wanted, told["may"]))
    if not why and told["differs"] is not None:
        why = (
            f"page {told['differs'] // PAGE} is yours, but byte {told['differs']:,} does not read as in the file. "
            "Any write makes the page yours: write the byte that is there already."
        )
    if states is None:
        figures: tuple[str, ...] = ()
        done = f"Every byte reads as in the file. Whose the pages are is not measured here: {why_not}"
    else:
        mine, lent = sum(s in MINE for s in states), states.count(PageState.FILE)
        figures = (f"of {len(states)} pages {mine} yours", f"{lent} lent", f"{len(states) - mine - lent} absent")
        done = f"These {mine} pages are yours, and no other. The file knows nothing of it."
    return Verdict("not yet", why, figures, run) if why else Verdict("right", done, figures, run)


def no_mapping(told: dict, size: int) -> str | None:
    """What it returned instead of the whole file as a mapping; None if that is what it is."""
    kind, length = told["type"], told["length"]
    if kind in ("bytes", "bytearray", "list") or told["memory"] in ("anonymous", "heap"):
        return (
            f"it returned `{kind}`, and nothing is mapped. That is a copy of the file in memory of your own: all its "
            "pages are anonymous, and none is lent. Return the mapping."
        )
    if kind == "NoneType":
        return "it returned nothing, and so the mapping is gone. `return` it."
    if length is None:
        closed = "a mapping that is closed. The `with` has closed it: return one that is open"
        return f"it returned {closed if kind == 'mmap' else f'`{kind}`, which has no pages'}."
    return None if length == size else f"the mapping has {length:,} bytes, the file {size:,}. Map the whole file."


def not_these(states: list[int], wanted: list[int], may: str) -> str | None:
    """What the slip was, as far as the pages tell; None if exactly the wanted ones are anonymous."""
    mine, want = {page for page, state in enumerate(states) if state in MINE}, set(wanted)
    if mine == want:
        return None
    if not mine and may.endswith("s") and "w" not in may:
        return (
            "no page is yours. Your mapping can only be read, and only a write makes a copy. Ask for one that is "
            "private and can be written to: `access=mmap.ACCESS_COPY`."
        )
    if not mine and may.endswith("s"):
        return (
            "no page is yours. In a shared mapping a write changes the file's own page, and no copy is made. Ask for a "
            "private one: `access=mmap.ACCESS_COPY`."
        )
    if not mine:
        return "no page is yours. Reading brings a page, but it is still the page cache's. Only a write makes a copy."
    if mine == {number // PAGE for number in want}:
        return (
            f"page {min(mine)} is yours, and no other. An index of a mapping counts bytes, not pages: page p begins at "
            "byte p × mmap.PAGESIZE."
        )
    if mine in ({page - 1 for page in want}, {page + 1 for page in want}):
        return f"it made pages {listed(mine)} yours, and asked for were {listed(want)}. The first page is number 0."
    if len(mine) == len(states):
        return "all pages are yours. Each page that is written to is copied: write to the wanted ones only."
    return f"it made pages {listed(mine)} yours; asked for were {listed(want)}."


def listed(pages: set[int]) -> str:
    return ", ".join(map(str, sorted(pages)))


def yours_by(map_it: str, loop: str) -> str:
    """An answer to 01.yours that maps in this way and then does this for all pages."""
    return f"""def yours(path, pages):
    import mmap
    with open(path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0{map_it})
    {loop}
    return mapping
"""


COPY = ", access=mmap.ACCESS_COPY"
SEEN = (
    (yours_by("", "for page in pages: mapping[page * mmap.PAGESIZE] |= 0"), "changes the file's own page"),
    (yours_by(COPY, "for page in pages: mapping[page] |= 0"), "counts bytes, not pages"),
    (yours_by(COPY, "for page in pages: mapping[(page - 1) * mmap.PAGESIZE] |= 0"), "The first page is number 0"),
    (yours_by(COPY, "for page in pages: mapping[page * mmap.PAGESIZE]"), "Only a write makes a copy"),
    (yours_by(COPY, "mapping[:] = mapping[:]"), "write to the wanted ones only"),
    (
        "def yours(path, pages):\n    import numpy as np\n    return np.memmap(path, 'u1', 'r')\n",
        "can only be read, and",
    ),
    ("def yours(path, pages):\n    import numpy as np\n    return np.fromfile(path, 'u1')\n", "nothing is mapped"),
)
YOURS = Exercise(
    key="01.yours",
    title="make exactly these pages yours",
    minutes=10,
    prompt="""
You have a file, and a list of page numbers: `[14, 5, 29]`. The first page is number 0. Write `yours(path, pages)`. It \
returns a mapping of the whole file in which

- exactly these pages are anonymous: orange in the pictures. The others are lent, or absent,
- every byte reads as in the file.

The file itself must not change. The check runs your function in a fresh process, and asks the kernel there what each \
page is.
""",
    starter='''def yours(path, pages):
    """A mapping of the file in which exactly these pages are anonymous."""
    ...
''',
    judge=check_yours,
    hints=(
        "What turned a page orange in the explorer? And what must the mapping be, so that the file does not change? "
        "Look for `access` in the documentation of Python's mmap: one value of it makes a private mapping.",
        "`mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)` is private. Page p begins at byte "
        "`p * mmap.PAGESIZE`. Write there the byte that is there: any write makes the page yours.",
    ),
    solution_source='''def yours(path, pages):
    """A mapping of the file in which exactly these pages are anonymous."""
    import mmap

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in pages:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    return mapping
''',
    wrong=(
        (yours_by("", "for page in pages: mapping[page * mmap.PAGESIZE] ^= 255"), "the file was changed"),
        *(SEEN if sys.platform == "linux" else ()),  # elsewhere nobody tells whose a page is
        (yours_by(COPY, "for page in pages: mapping[page * mmap.PAGESIZE] ^= 255"), "does not read as in the file"),
        ("def yours(path, pages):\n    return bytearray(open(path, 'rb').read())\n", "memory of your own: all its"),
    ),
    size=PAGES * PAGE,
)


# --- 01.report ------------------------------------------------------------------------------------------------
LOADERS = {
    "walks": "walks through a mapping and keeps nothing",
    "keeps": "keeps a copy of every batch",
    "both": "walks through a mapping and keeps a copy of every batch",
    "shares": "fills memory that it shares with its workers",
    "promises": "maps the data, and reads only an index of 256 KiB",
    "spikes": "reads everything, and lets it go",
    "trades": "closes the mapping that it walked through, and reads everything instead",
}
WORDS = ("lent", "leak", "both", "neither")
MUCH = MiB


def check_verdict(attempt: Attempt) -> Verdict:
    """Right for seven loaders, started for this check; for recorded ones where these do not show what they should."""
    live = live_loaders(attempt) if kinds_are_told_apart() else {}
    as_meant = words_of(live) == words_of(reports.LOADERS)  # not so if the data lie on a file system in memory
    pairs = live if as_meant else reports.LOADERS
    figures = tuple(
        f"{kind}: {signed(lent)} lent, {signed(own)} its own"
        for kind, (lent, own, _) in ((kind, judged_right(*pair)) for kind, pair in pairs.items())
    )
    where = "that ran a moment ago" if as_meant else "recorded on another machine: this one does not show them"
    done = f"You judged {len(pairs)} loaders {where}."
    return right_for_each(attempt, pairs, misjudged, "a loader that", LOADERS, done, figures)


def live_loaders(attempt: Attempt) -> dict[str, tuple[str, str]]:
    """What /proc said of each loader, which had a process for itself, at two moments."""
    size = 16 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "data.bin", size, seed=secrets.randbelow(2**32))
    return {kind: measure(carried.loader, kind, str(path), size, name=kind).value for kind in LOADERS}


def judged_right(before: str, after: str) -> tuple[int, int, str]:
    """Bytes gained that are lent, bytes gained that are own, and the word."""
    gained = gains(before, after)
    lent, own = gained["RssFile"], gained["RssAnon"] + gained["RssShmem"]
    grew = (lent > MUCH, own > MUCH)
    word = {(True, False): "lent", (False, True): "leak", (True, True): "both", (False, False): "neither"}[grew]
    return lent, own, word


def words_of(pairs: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {kind: judged_right(*pair)[2] for kind, pair in pairs.items()}


def gains(before: str, after: str) -> dict[str, int]:
    """By how many bytes each line has grown."""
    then, now = fields(before), fields(after)
    return {name: now[name] - then[name] for name in now}


def signed(number: int) -> str:
    return f"{'−' if number < 0 else '+' if number else ''}{in_words(abs(number), 'bytes')}"


def misjudged(given: object, before: str, after: str) -> str | None:
    """None for the right answer; else what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(is_a_number, given[:2])):
        words = ", ".join(map(repr, WORDS))
        return f"it returned {given!r}. Return three things: bytes gained that are lent, own ones, and one of {words}."
    gained, now, (lent, own, word) = gains(before, after), fields(after), judged_right(before, after)
    resident = "`VmRSS` adds up what is lent and what is own, and so it cannot tell a leak from a mapping."
    promised = "`VmSize` is address space. A promise that grows takes no memory."
    slips = {
        "lent": (
            (now["RssFile"], "That much is lent in the second text. How much was it in the first?"),
            (gained["RssFile"] + gained["RssShmem"], "`RssShmem` is not lent: no file holds these bytes."),
            (gained["VmRSS"], resident),
            (gained["VmSize"], promised),
        ),
        "own": (
            (now["RssAnon"] + now["RssShmem"], "It had most of that already at the first moment. How much is new?"),
            (gained["RssAnon"], "You left out `RssShmem`: no file holds these bytes, so nobody can take them back."),
            (gained["VmRSS"], resident),
            (gained["VmSize"], promised),
            (gained["VmHWM"], "`VmHWM` is the highest that ever was, and does not come down when memory is freed."),
        ),
    }
    if given[:2] == (own, lent) != (lent, own):
        return "the bytes are right, but swapped: first what is lent, then what is own."
    for name, number, right in (("own", given[1], own), ("lent", given[0], lent)):
        if number == right:
            continue
        if number == 0 > right:
            return f"you gave 0 as {name}. That part shrank: give what it has gained, a negative number."
        if right in (round(number * 1024), round(number * 1.024)):
            return f"you gave {number:,} {name} bytes. A `kB` in /proc means 1,024 bytes."
        if number == -right:
            return f"you gave {signed(int(number))} as {name}. What is gained is after − before."
        told = next((words for slip, words in slips[name] if slip == number), "Which line beginning with Rss is it?")
        return f"you gave {signed(int(number))} as {name}. {told}"
    if given[2] != word:
        return f"the bytes are right ({signed(lent)} lent, {signed(own)} own), but not the word {given[2]!r}."
    return None


def two_columns(before: str, after: str) -> str:
    """Both texts side by side, as code of a prompt."""
    pairs = (
        line.split() + other.split()[1:] for line, other in zip(*map(str.splitlines, (before, after)), strict=True)
    )
    rows = (f"{name:<10}{then:>10} kB   {now:>10} kB" for name, then, _, now, _ in pairs)
    return "\n".join(f"    {row}" for row in (f"{'':10}{'before':>10}      {'after':>10}", *rows))


def verdict_by(lent: str, own: str, word: str, unit: int = 1024) -> str:
    """An answer to 01.report that takes the figures and the word from this."""
    return f"""def verdict(before, after):
    def sizes(text):
        lines = (line.split() for line in text.splitlines())
        return {{words[0].rstrip(":"): int(words[1]) * {unit} for words in lines if words[-1:] == ["kB"]}}

    old, new = sizes(before), sizes(after)
    gained = {{name: new[name] - old[name] for name in new}}
    lent, own = {lent}, {own}
    return lent, own, {word}
"""


LENT, OWN = 'gained["RssFile"]', 'gained["RssAnon"] + gained["RssShmem"]'
WORD = '{(1, 0): "lent", (0, 1): "leak", (1, 1): "both", (0, 0): "neither"}[lent > 2**20, own > 2**20]'
VERDICT = Exercise(
    key="01.report",
    title="is it a leak?",
    minutes=12,
    prompt=f"""
A user writes: “Our data loader's memory grows in every epoch until it is as large as the data set. Where is the leak? \
Here are the memory lines of /proc/<pid>/status, after the first batches and at the end of the epoch:”

{two_columns(*reports.LOADERS["walks"])}

You will get more of these. At both moments a good loader holds one batch, and nothing else. Write \
`verdict(before, after)`. It takes two such texts of one process (whole files, with other lines as well; kB means \
1,024 bytes there) and returns three things:

- **lent**: by how many bytes that part has grown which the kernel can take back, because a file holds it,
- **own**: by how many bytes the rest of the resident memory has grown: no file holds it, so only the process can give \
it back,
- one word: `"lent"` if only the lent part grew by more than 1 MiB, `"leak"` if only the own part did, `"both"`, or \
`"neither"`.

A part that shrank has grown by less than 0: give the negative number. Nothing was swapped out. The check asks your \
function about seven loaders. One of them leaks, and its `VmRSS` stands still.
""",
    starter='''def verdict(before, after):
    """(lent bytes gained, own bytes gained, word) from two status texts."""
    ...
''',
    judge=check_verdict,
    hints=(
        "What is there at the end does not matter here, only what came in between: subtract line by line. Then: VmRSS "
        "is a sum of three lines. Which of the three has a file behind it?",
        "lent is what `RssFile` gained. own is what `RssAnon` and `RssShmem` gained together. Each line is a name, a "
        "number, and kB, which means 1,024 bytes there. Ask of both whether they are more than `2**20`.",
    ),
    solution_source='''def verdict(before, after):
    """(lent bytes gained, own bytes gained, word) from two status texts."""

    def sizes(text):
        lines = (line.split() for line in text.splitlines())
        return {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}

    old, new = sizes(before), sizes(after)
    gained = {name: new[name] - old[name] for name in new}
    lent, own = gained["RssFile:"], gained["RssAnon:"] + gained["RssShmem:"]
    if lent > 2**20:
        return lent, own, "both" if own > 2**20 else "lent"
    return lent, own, "leak" if own > 2**20 else "neither"
''',
    wrong=(
        (verdict_by(LENT, 'gained["VmRSS"]', WORD), "cannot tell a leak from a mapping"),
        (verdict_by(LENT, 'gained["VmSize"]', WORD), "A promise that grows takes no memory"),
        (verdict_by('new["RssFile"]', OWN, WORD), "How much was it in the first"),
        (verdict_by(LENT, 'gained["RssAnon"]', WORD), "You left out RssShmem"),
        (verdict_by(LENT + ' + gained["RssShmem"]', OWN, WORD), "RssShmem is not lent"),
        (verdict_by(OWN, LENT, WORD), "swapped: first what is lent"),
        (verdict_by(f"max(0, {LENT})", f"max(0, {OWN})", WORD), "That part shrank"),
        (verdict_by(LENT, OWN, WORD, unit=1), "means 1,024 bytes"),
        (verdict_by(LENT, OWN, WORD.replace("2**20", "0")), "but not the word"),
        (verdict_by(LENT, OWN, '"leak" if gained["VmRSS"] > 2**20 else "neither"'), "but not the word"),
    ),
)

EXERCISES = (YOURS, VERDICT)


# --- quizzes --------------------------------------------------------------------------------------------------
def page_by_page(path: Path) -> int | None:
    """1 if all bytes of a page that is there cost no page fault, and touching other pages does."""

    def count_faults(path):
        import mmap
        import resource

        def faults_of(places):
            def so_far():
                usage = resource.getrusage(resource.RUSAGE_SELF)
                return usage.ru_minflt + usage.ru_majflt

            before = so_far()
            for at in places:
                mapping[at]
            return so_far() - before

        page = mmap.PAGESIZE
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            middle = len(mapping) // 2
            faults_of(range(0, 8 * page))  # what the loop itself needs is there now
            first = faults_of([middle])
            return first, faults_of(range(middle, middle + page)), faults_of(range(0, len(mapping), page))

    if maps.why_not():
        return None
    first, rest, others = measure(count_faults, path).value
    return 1 if first >= 1 and rest < others / 4 else 0


def taken(path: Path) -> int | None:
    """2 if paging out takes pages of a file that were only read, and none that were written."""

    def page_out(path):
        import mmap

        from helpers.measure.pages import page_map

        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
            for at in range(0, len(mapping), mmap.PAGESIZE):
                mapping[at]
            for at in range(0, len(mapping) // 2, mmap.PAGESIZE):
                mapping[at] |= 0
            before = page_map(mapping).counts
            mapping.madvise(21)  # MADV_PAGEOUT, Linux 5.4
            return before, page_map(mapping).counts

    if maps.why_not():
        return None
    run = measure(page_out, path)
    if run.ended != "returned":  # an older kernel
        return None
    (lent, mine), (lent_left, mine_left) = (
        (found.get(PageState.FILE, 0), sum(found.get(state, 0) for state in MINE)) for found in run.value
    )
    return 2 if lent_left < lent / 2 and mine_left == mine else 0


def twins(path: Path) -> int | None:
    """0 if RSS, PSS and USS gain the same by a read as by a touched mapping, and anonymous memory tells them apart."""

    def gain(path, map_it):
        import mmap
        import re

        def rollup():
            with open("/proc/self/smaps_rollup") as file:
                found = {name: int(n) * 1024 for name, n in re.findall(r"(\w+):\s+(\d+) kB", file.read())}
            unique = found["Private_Clean"] + found["Private_Dirty"]
            return found["Rss"], found["Pss"], unique, found["Anonymous"]

        rollup()
        before = rollup()
        with open(path, "rb") as file:
            if map_it:
                held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                sum(held[at] for at in range(0, len(held), mmap.PAGESIZE))
            else:
                held = file.read()
            return [now - then for now, then in zip(rollup(), before, strict=True)]

    if maps.why_not() or not Path("/proc/self/smaps_rollup").exists():  # Linux 4.14
        return None
    size = path.stat().st_size
    read, mapped = (measure(gain, path, map_it).value for map_it in (False, True))
    alike = all(0.9 < gained / size < 1.1 for gained in (*read[:3], *mapped[:3]))
    return 0 if alike and read[3] > 0.9 * size > 0.1 * size > mapped[3] else 1


QUIZZES = (
    Quiz(
        "01.touch",
        "You read one byte in the middle of a mapping: a page fault. Then you read all the other bytes of that page, "
        "and the fault counter stands still. Why?",
        (
            Choice(
                "The first fault brought the whole file into memory.",
                False,
                "Look at the explorer: after one touch, fifteen pages are still absent. Walk on to other pages, and "
                "the counter moves again.",
            ),
            Choice(
                "The page table has one entry for the whole page, and the first fault has filled it.",
                True,
                "Yes. The processor asks the page table where a page is, never where a byte is. Once the entry is "
                "there, it finds all 4,096 bytes without the kernel.",
            ),
            Choice(
                "The first fault copied the page into the process's own memory.",
                False,
                "Nothing was copied: the page is blue. The entry points at the page that lies in the page cache. A "
                "copy is made when you write to a private mapping.",
            ),
            Choice(
                "The processor keeps the page in its own cache.",
                False,
                "It keeps lines of 64 bytes there, and that saves time, not faults. A fault comes when the page table "
                "has no entry, whatever lies in the processor's cache.",
            ),
        ),
        on_a_file(page_by_page),
    ),
    Quiz(
        "01.paged-out",
        "Page out took the lent pages at once, and the written ones stayed. Why?",
        (
            Choice(
                "The written pages were used last, so the kernel thought they were needed.",
                False,
                "When memory is short the kernel does look at what was used last. But `page_out` asked for all pages, "
                "and there is a stronger reason why some could not go.",
            ),
            Choice(
                "The written pages must first be written back to the file.",
                False,
                "That is so in a shared mapping. This one is private: what you write there never goes to the file.",
            ),
            Choice(
                "The file has the same bytes as the lent pages, and nothing else has those of the written ones.",
                True,
                "Yes. A page can be dropped when its bytes can be read again from somewhere. For anonymous pages that "
                "somewhere would be swap, and only if the machine has some.",
            ),
            Choice(
                "The process owns the written pages, and the kernel may not touch what a process owns.",
                False,
                "It may, and with swap it does. “Own” is not a right here: it says that nobody else has the bytes.",
            ),
        ),
        on_a_file(taken),
    ),
    Quiz(
        "01.twins",
        "There are finer meters than RSS. PSS divides each page by the number of processes that have it in their page "
        "tables; USS counts only pages that no other process has there. For a file that was read, and for one that was "
        "mapped and touched, all three show the same. Why does none of them tell the two apart?",
        (
            Choice(
                "They ask how many processes have a page, and not whether a file holds its bytes.",
                True,
                "Yes. One process maps the file, so the whole file is counted as that process's alone. Lent or owned "
                "is another question: look at anonymous and file-backed.",
            ),
            Choice(
                "A mapping that was touched has become the process's own memory.",
                False,
                "Then the kernel could not take it back, and the next section shows that it can. A page stays the "
                "file's until it is written to.",
            ),
            Choice(
                "They count addresses, and both have the same number.",
                False,
                "That is the address space. These three count pages that are there: a mapping that nobody touched "
                "shows in none of them.",
            ),
            Choice(
                "The page cache has the file's pages too, so PSS should show half, and is wrong.",
                False,
                "PSS divides by processes. The page cache is the kernel's, not a process's: it does not count as a "
                "second owner. Let another process touch the same mapping, and PSS does show half.",
            ),
        ),
        on_a_file(twins),
    ),
)
