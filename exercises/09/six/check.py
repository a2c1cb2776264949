"""09.six: the bytes that five servers need, and the word, from what free(1) and their processes show."""

import os
import secrets
import tomllib
from pathlib import Path

from helpers.make import random_file
from helpers.measure import maps, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

SERVERS = {
    "maps": "maps the model and uses all of it",
    "reads": "reads the model and uses all of it",
    "experts": "maps a model of eight experts and asks one of them",
    "two": "maps the model in two processes, and both use all of it",
    "loses": "maps the model, uses all of it, and then loses some because others need memory",
}
CAUSES = ("copied", "evicted", "part", "cached")
MUCH, ABOUT = 8 * MiB, 3 * MiB

Moment = dict[str, dict | list[dict]]  # "free" and "processes": figures in bytes, as `serves` gives them


# --- the servers ----------------------------------------------------------------------------------------------
def serves(kind: str, path: str, size: int) -> tuple[Moment, Moment]:
    """What free(1) and the processes of a server show, bytes, before it has the model and after two answers.

    proc_meminfo(5); VmHWM of proc_pid_status(5), reset before; the rest is from smaps_rollup, proc_pid_smaps(5).
    """
    import mmap
    import os

    def numbers(name):
        with open(f"/proc/{name}") as file:
            return {words[0].rstrip(":"): int(words[1]) * 1024 for words in map(str.split, file) if words[-1] == "kB"}

    def moment():
        memory, processes = numbers("meminfo"), []
        for pid in pids:
            now = numbers(f"{pid}/smaps_rollup")
            file = now["Rss"] - now["Anonymous"] - now["Pss_Shmem"]
            shown = {"RssAnon": now["Anonymous"], "RssFile": file, "Pss_File": now["Pss_File"]}
            processes.append(shown | {"VmHWM": numbers(f"{pid}/status")["VmHWM"]})
        free = {"used": memory["MemTotal"] - memory["MemAvailable"]}
        free["buff/cache"] = memory["Buffers"] + memory["Cached"] + memory["SReclaimable"]
        return {"free": free, "processes": processes}

    def use():
        with open(path, "rb") as file:
            if kind == "reads":
                return file.read()
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for _ in "12":
            sum(mapping[at] for at in range(0, size // 8 if kind == "experts" else size, mmap.PAGESIZE))
        if kind == "loses":
            mapping.madvise(21, 0, size * 5 // 8 // mmap.PAGESIZE * mmap.PAGESIZE)  # MADV_PAGEOUT, madvise(2)
        return mapping

    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    pids, (reader, order), (answers, writer) = [os.getpid()], os.pipe(), os.pipe()
    if kind == "two":
        pids.append(os.fork())
        if not pids[-1]:
            try:
                os.close(order)
                os.read(reader, 1)
                held = use()
                os.write(writer, b"1")
                os.read(reader, 1)
                del held
            finally:
                os._exit(0)
    os.close(writer)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = moment()
    held = use()
    if kind == "two":
        os.write(order, b"1")
        if not os.read(answers, 1):
            raise OSError("the second process has died")
    after = moment()
    del held
    os.close(order)
    for pid in pids[1:]:
        os.waitpid(pid, 0)
    return before, after


def live(folder: Path) -> dict[str, tuple[int, Moment, Moment]]:
    """The model's size, and what each kind of server shows before and after; nothing if one could not be run."""
    size = 48 * MiB + 4 * KiB * secrets.randbelow(2 * KiB)
    path = random_file(folder / "model.bin", size, seed=secrets.randbelow(2**32))
    with path.open("r+b") as file:
        os.fsync(file.fileno())  # dirty pages cannot be dropped from the cache
    runs = {kind: measure(serves, kind, str(path), size, name=kind) for kind in SERVERS}
    if any(run.ended != "returned" for run in runs.values()):
        return {}
    return {kind: (size, *run.value) for kind, run in runs.items()}


def recorded() -> dict[str, tuple[int, Moment, Moment]]:
    """The same, of servers on another machine."""
    servers = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text(encoding="utf-8"))
    return {kind: (one["size"], one["before"], one["after"]) for kind, one in servers.items()}


# --- the judge ------------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    """Of servers started for this check; where they cannot be run or read, of recorded ones."""
    running = {} if maps.why_not() else live(attempt.folder)
    cases = running or recorded()
    figures = tuple(f"{kind}: {in_words(read_right(*case)[0], 'bytes')} needed" for kind, case in cases.items())
    where = "that were running a moment ago" if running else "recorded on another machine: they cannot be read here"
    done = f"You read the figures of {len(cases)} servers {where}. A mapped model needs the pages that it uses, "
    done += "in whichever column they are counted."
    return right_for_each(attempt, cases, misread, "a server that", SERVERS, done, figures)


def growth(before: Moment, after: Moment, meter: str) -> int:
    """By how many bytes a meter of the processes grew, all of them added up."""
    return sum(now[meter] - was[meter] for was, now in zip(before["processes"], after["processes"], strict=True))


def held(before: Moment, after: Moment) -> tuple[int, int, int]:
    """Bytes of all processes together: anonymous, their share of files' pages, and what they had and have no more."""
    gone = sum(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    return growth(before, after, "RssAnon"), growth(before, after, "Pss_File"), gone


def read_right(size: int, before: Moment, after: Moment) -> tuple[int, str]:
    """The bytes needed, and which of CAUSES it is."""
    own, shared, gone = held(before, after)
    needed = own + shared + gone
    if own > needed / 2:
        return needed, "copied"
    if gone > MUCH:
        return needed, "evicted"
    return needed, "part" if needed < size / 2 else "cached"


def misread(given: object, size: int, before: Moment, after: Moment) -> None:
    """NotYet says what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, CAUSES))
        raise NotYet("no-pair", f"expected the bytes needed and one of {words}, got {given!r}.")
    (needed, word), (own, shared, gone) = read_right(size, before, after), held(before, after)
    got = in_words(given[0], "bytes")
    if abs(given[0] - needed) > ABOUT:
        for cause, figure, why in other_figures(before, after):
            if given[0] == figure:
                raise NotYet(cause, f"you gave {got} as needed. {why}")
    if abs(given[0] - needed) > ABOUT or given[1] != word:
        figures = {"own memory": own, "share of files' pages": shared, "gone again": gone, "the model": size}
        listed = ", ".join(f"{name} {in_words(figure, 'bytes')}" for name, figure in figures.items())
        expected = f"expected {in_words(needed, 'bytes')} and {word!r}, got {got} and {given[1]!r}"
        raise NotYet("other-answer", f"{expected}. The processes together: {listed}.")


def other_figures(before: Moment, after: Moment) -> list[tuple[str, int, str]]:
    """What is easily taken for the bytes needed: the cause, the figure, and what it is."""
    own, shared, _ = held(before, after)
    used, cached = (after["free"][name] - before["free"][name] for name in ("used", "buff/cache"))
    left_out = "`used` grew by that much. It leaves out the pages of files, however often they are needed."
    whose = "The page cache grew by that much, whoever it was for. It keeps what was read once, needed or not."
    waits = "That is anonymous memory alone. Without the mapped pages each answer waits for the disk."
    again = "That is what is left now. VmHWM says how much there was, and the next answer needs all of it again."
    twice = "RssFile and VmHWM count a page in full in every process. Two that map the same file need its pages once."
    return [
        ("used", used, left_out),
        ("page-cache", cached, whose),
        ("own-only", own, waits),
        ("what-is-left", own + shared, again),
        ("counted-twice", own + growth(before, after, "RssFile"), twice),
        ("counted-twice", growth(before, after, "VmHWM"), twice),
    ]
