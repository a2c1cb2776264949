"""09.six: the bytes that five servers need, and the word, from what free(1) and their processes
show.
"""

import os
import secrets
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

SERVERS = {
    "maps": "maps the model and uses all of it",
    "reads": "reads the model and uses all of it",
    "experts": "maps a model of eight experts and asks some of them",
    "two": "maps the model in two processes, which use all of it between them",
    "loses": "maps the model, uses all of it, and then loses some because others need memory",
}
CAUSES = ("copied", "evicted", "part", "cached")
CAUSE = {
    "maps": "cached",
    "reads": "copied",
    "experts": "part",
    "two": "cached",
    "loses": "evicted",
}  # of each server
MUCH, ABOUT = 8 * MiB, 3 * MiB
TRIES = 5
SERVER = Path(__file__).with_name("server.py")

# "free" and "processes": figures in bytes, as `moment` gives them
Moment = dict[str, dict | list[dict]]
Case = tuple[int, Moment, Moment]  # the size of the model, before, after
Parts = list[tuple[int, int]]  # for each process: from which eighth of the model to which


# --- the servers ----------------------------------------------------------------------------------
def moment(pids: list[int]) -> Moment:
    """What free(1) and these processes show, in bytes.

    proc_meminfo(5); VmHWM of proc_pid_status(5); the rest is from smaps_rollup, proc_pid_smaps(5).
    """

    def numbers(name):
        lines = map(str.split, Path("/proc", name).read_text().splitlines())
        return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1] == "kB"}

    memory, processes = numbers("meminfo"), []
    for pid in pids:
        now = numbers(f"{pid}/smaps_rollup")
        shown = {
            "RssAnon": now["Anonymous"],
            "RssFile": now["Rss"] - now["Anonymous"] - now["Pss_Shmem"],
        }
        processes.append(
            shown | {"Pss_File": now["Pss_File"], "VmHWM": numbers(f"{pid}/status")["VmHWM"]}
        )
    free = {"used": memory["MemTotal"] - memory["MemAvailable"]}
    free["buff/cache"] = memory["Buffers"] + memory["Cached"] + memory["SReclaimable"]
    return {"free": free, "processes": processes}


def serves(kind: str, path: Path, size: int, parts: Parts) -> tuple[Moment, Moment]:
    """What such a server shows before it has the model and after two answers. Raises OSError if it
    couldn't be run.
    """

    def told_to_go_on(server):
        server.stdin.write(b"go on\n")
        server.stdin.flush()
        if not server.stdout.readline():
            raise OSError("a server has died")

    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with ExitStack() as at_end:
        servers, pipe = [], subprocess.PIPE
        for begin, end in parts:
            command = (sys.executable, SERVER, kind, path, size * begin // 8, size * end // 8)
            servers.append(
                at_end.enter_context(subprocess.Popen(map(str, command), stdin=pipe, stdout=pipe))
            )
            told_to_go_on(servers[-1])
        pids = [server.pid for server in servers]
        for pid in pids:
            # VmHWM counts from now on, proc_pid_clear_refs(5)
            Path(f"/proc/{pid}/clear_refs").write_text("5")
        before = moment(pids)
        for server in servers:
            told_to_go_on(server)
        return before, moment(pids)


def live(folder: Path) -> dict[str, tuple[int, Case]]:
    """How many bytes each kind of server needs for what it was asked, and what it shows; {} if a
    server couldn't be run or didn't do what it should.
    """
    size = 48 * MiB + 4 * KiB * secrets.randbelow(2 * KiB)
    path = random_file(folder / "model.bin", size, seed=secrets.randbelow(2**32))
    with path.open("r+b") as file:
        os.fsync(file.fileno())  # dirty pages cannot be dropped from the cache
    servers = {}
    for kind in secrets.SystemRandom().sample(list(SERVERS), len(SERVERS)):
        parts = {"experts": [(0, 1 + secrets.randbelow(3))], "two": [(0, 6), (2, 8)]}.get(
            kind, [(0, 8)]
        )
        try:
            for _ in range(TRIES):
                case = (size, *serves(kind, path, size, parts))
                used, cached, own = (figure for _, figure, _ in other_figures(*case[1:])[:3])
                # or a figure wouldn't tell which slip it comes from
                if len({used, cached, own}) == 3:
                    break
        # a system that doesn't show all this, or that stopped a server
        except (OSError, KeyError):
            return {}
        if not as_meant(kind, parts, *case):
            return {}
        servers[kind] = size * max(end for _, end in parts) // 8, case
    return servers


def as_meant(kind: str, parts: Parts, size: int, before: Moment, after: Moment) -> bool:
    """Did the processes have their parts of the model, and lose pages only where they should?"""
    eighths, had = sum(end - begin for begin, end in parts), growth(before, after, "VmHWM")
    lost = max(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    return abs(had - size * eighths / 8) < ABOUT and (lost > MUCH) == (kind == "loses")


def recorded() -> dict[str, tuple[int, Case]]:
    """The same for servers on another machine."""
    servers = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text(encoding="utf-8"))
    return {
        kind: (case["needed"], (case["size"], case["before"], case["after"]))
        for kind, case in servers.items()
    }


# --- the judge ------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    """Asks about servers started for this check, or recorded servers where those can't be run or
    read.
    """
    running = {} if maps.why_not() else live(attempt.folder)
    servers = running or recorded()
    figures = tuple(
        f"{kind}: {in_words(needed, 'bytes')} needed" for kind, (needed, _) in servers.items()
    )
    where = (
        "that were running a moment ago"
        if running
        else "recorded on another machine: they can't be read here"
    )
    done = (
        f"You read the figures of {len(servers)} servers {where}. A mapped model needs the pages "
        "that it uses, "
    )
    done += "in whichever column they are counted."
    cases = {kind: case for kind, (_, case) in servers.items()}
    expected = {kind: (needed, CAUSE[kind]) for kind, (needed, _) in servers.items()}
    return right_for_each(
        attempt, cases, misread, "a server that", SERVERS, done, figures, expected
    )


def growth(before: Moment, after: Moment, meter: str) -> int:
    """How many bytes a meter grew by, added up over all processes."""
    return sum(
        now[meter] - was[meter]
        for was, now in zip(before["processes"], after["processes"], strict=True)
    )


def held(before: Moment, after: Moment) -> tuple[int, int, int]:
    """Bytes of all processes together: anonymous, their share of files' pages, and what they had
    and lost.
    """
    gone = sum(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    return growth(before, after, "RssAnon"), growth(before, after, "Pss_File"), gone


def misread(
    given: object, expected: tuple[int, str], size: int, before: Moment, after: Moment
) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the figures give it away."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, CAUSES))
        raise NotYet("no-pair", f"expected the bytes needed and one of {words}, got {given}.")
    (needed, word), (own, shared, gone) = expected, held(before, after)
    got = in_words(given[0], "bytes")
    half, bytes_are_right = "the words" if given[1] == word else "", abs(given[0] - needed) <= ABOUT
    if not bytes_are_right:
        for cause, figure, why in other_figures(before, after):
            if given[0] == figure:
                raise NotYet(cause, f"you gave {got} as needed. {why}", half=half)
    if not (bytes_are_right and half):
        half = "the bytes" if bytes_are_right else half
        figures = {
            "own memory": own,
            "share of files' pages": shared,
            "lost again": gone,
            "the model": size,
        }
        listed = ", ".join(
            f"{name} {in_words(figure, 'bytes')}" for name, figure in figures.items()
        )
        expected = f"expected {in_words(needed, 'bytes')} and {word!r}, got {got} and {given[1]!r}"
        raise NotYet("other-answer", f"{expected}. The processes together: {listed}.", half=half)


def other_figures(before: Moment, after: Moment) -> list[tuple[str, int, str]]:
    """What is easily mistaken for the bytes needed: the cause, the figure, and what it really
    is.
    """
    own, shared, _ = held(before, after)
    used, cached = (after["free"][name] - before["free"][name] for name in ("used", "buff/cache"))
    left_out = (
        "`used` grew by that much. It leaves out the pages of files, however often they're needed."
    )
    whose = (
        "The page cache grew by that much, whoever it was for. It keeps whatever was once read,"
        " needed or not."
    )
    waits = (
        "That's anonymous memory alone. Without the mapped pages, each answer waits for the disk."
    )
    again = (
        "That's what is left now. VmHWM says how much there was, and the next answer needs all of "
        "it again."
    )
    twice = (
        "RssFile and VmHWM count a page in full in every process. Two that map the same file need "
        "its pages once."
    )
    return [
        ("used", used, left_out),
        ("page-cache", cached, whose),
        ("own-only", own, waits),
        ("what-is-left", own + shared, again),
        ("counted-twice", own + growth(before, after, "RssFile"), twice),
        ("counted-twice", growth(before, after, "VmHWM"), twice),
    ]
