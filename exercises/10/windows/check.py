"""10.windows: an owned layer; the new file in place as soon as nobody has the old; otherwise the
error, in time.
"""

import os
import secrets
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach.inside import is_mapped
from helpers.teach.judging import Attempt, NotYet, Verdict, digest, held, names_in, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB
# seconds, seconds (a busy machine sleeps long), and how often it may try
SOONEST, LATEST, TRIES = (0.5, 5, 50)
# who else has the file mapped -> for how many tries
BUSY = {"nobody": 0, "leaves": 1, "stays": 10**9}
EXPORTED = (
    "it raised BufferError: closing the mapping is right, but a view of it still has a name. Copy "
    "the layer, and let the view go before the mapping closes."
)
EXISTS = "Cannot create a file when that file already exists"  # Windows says so, error 183
RENAMED = (
    "on Windows, `os.rename` refuses a name that already exists. `os.replace` replaces the file on "
    "every system."
)


# --- in the student's process ---------------------------------------------------------------------
def run(function, cases: list[tuple], np) -> list[dict]:
    """How each call of function(path, offset, count, new) ended. A case is these four, and how many
    tries fail.

    numpy is an argument so that it is loaded before anything is measured.
    """
    import gc
    import os
    import sys
    import threading
    import time

    ends, step = [], {"path": None, "call": None}
    sys.addaudithook(windows(step))

    def noted(frame, event, called):
        if event == "c_call" and called in (os.rename, os.replace):
            step["call"] = called

    threading.setprofile(noted)
    for path, offset, count, new, busy in cases:
        step.update(tries=0, removed=False, held="", busy=busy, path=str(path))
        raised, layer, began = False, None, time.monotonic()
        sys.setprofile(noted)
        try:
            layer = function(path, offset, count, new)
        except PermissionError:
            raised = True
        finally:
            sys.setprofile(None)
            step["path"] = None
        layer = np.asarray(layer) if isinstance(layer, np.ndarray) else type(layer).__name__
        waited = time.monotonic() - began
        ends.append({name: step[name] for name in ("tries", "removed", "held")})
        ends[-1] |= {"raised": raised, "layer": layer, "waited": waited}
    gc.collect()
    return ends


def windows(step: dict):
    """An audit hook (PEP 578): notes what is tried with the file at step["path"], and refuses what
    Windows refuses.

    Windows won't replace, rename or delete a file that this process or another has open or mapped.
    The other process has it for step["busy"] tries. /proc shows what this process has; without
    /proc, only the other process counts. Nor does `os.rename` take a name that exists; step["call"]
    tells it from `os.replace`, as their event is the same.
    """
    import errno
    import os

    def had(path):
        mapped = is_mapped(path)
        if mapped or mapped is None:
            return "mapped" if mapped else ""
        there = {os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
        return "open" if path in there else ""

    def same(name, path):
        return os.path.realpath(os.fsdecode(name)) == path

    def refuse(event, args):
        path = step["path"]
        if not path or event not in ("os.rename", "os.remove"):
            return
        away, put = same(args[0], path), event == "os.rename" and same(args[1], path)
        if put and step["call"] is os.rename and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, EXISTS, path)
        step["removed"] |= away
        if away or put:
            step["tries"] += 1
            busy = step["tries"] <= step["busy"]
            step["held"] = "" if busy or os.name == "nt" else had(path)
            if busy or step["held"]:
                who = f"still {step['held']} here" if step["held"] else "mapped by another program"
                raise PermissionError(
                    errno.EACCES, f"Access is denied; on Windows error 5, the file is {who}", path
                )

    return refuse


# --- outside of it --------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    cases, wanted, count = [], [], 64 * KiB
    for other, busy in BUSY.items():
        folder, size = attempt.folder.resolve() / other, MiB if busy else attempt.size
        folder.mkdir()
        path = random_file(folder / "weights.bin", size, seed=secrets.randbelow(2**31))
        new = random_file(folder / "next.bin", size, seed=2**31)
        offset = 4 * (16 * KiB + 1 + secrets.randbelow(16 * KiB))
        layer = np.fromfile(path, np.float32, count, offset=offset)
        wanted.append((other, folder, layer, contents(folder), new.stat().st_ino))
        cases.append((path, offset, count, new, busy))
    means = {
        "exported pointers exist": ("view-has-a-name", EXPORTED),
        EXISTS: ("renamed", RENAMED),
    }
    still: set[str] = set()

    def look(pid: int) -> None:
        still.update(held(pid, attempt.folder))

    seen = attempt.run(
        run, cases, np, memory_limit=4 * attempt.size + 64 * MiB, means=means, look=look
    )
    for end, (other, folder, layer, before, inode) in zip(seen.value, wanted, strict=True):
        try:
            if other == "stays":
                in_vain(end, contents(folder) == before)
            else:
                there = contents(folder) == {"weights.bin": before["next.bin"]}
                moved = there and end["tries"] and (folder / "weights.bin").stat().st_ino == inode
                swapped(end, layer, other, bool(moved))
        except NotYet as slip:
            slip.half = "" if other == "nobody" or still else "nothing of the old file is held"
            raise
    if still:
        how = min(still)
        raise NotYet(
            f"still-{how}",
            f"when all calls had returned, a file was still {how}. Keep a copy, nothing else.",
        )
    done = (
        "You hold nothing of the old file, wait while another program has it, and give up in time"
    )
    verdict = within(seen, BUDGET, done)
    if os.name != "nt" and maps.why_not():
        more = " This machine can't tell whether you still had a mapping open; Windows can."
        return replace(verdict, because=verdict.because + more)
    return verdict


def contents(folder: Path) -> dict[str, bytes]:
    """The digest of each of our files in a folder; b"" for what is no file of its own, or
    another's.
    """
    ours = {"weights.bin", "next.bin"}
    found = {name: folder / name for name in names_in(folder)}
    return {
        name: digest(at) if name in ours and stat.S_ISREG(at.lstat().st_mode) else b""
        for name, at in found.items()
    }


def swapped(end: dict, wanted: np.ndarray, other: str, moved: bool) -> None:
    """Raises NotYet if the new file isn't in place although it could be, or if the layer isn't the
    old file's.
    """
    if end["raised"] and not end["held"] and other == "leaves":
        why = (
            "another program had the file mapped when you tried, and you gave up at once. Wait,"
            " and try again."
        )
        raise NotYet("tried-once", why)
    if end["raised"]:
        held = end["held"]
        why = (
            f"nobody else had the file, but you still had it {held or 'open or mapped'} when you "
            "tried to replace it. `with` closes a file. A view keeps its mapping: `[:]` makes "
            "another view, and an `np.memmap` that still has a name is a view too. `.copy()` "
            "what you need, and let go of the rest before you replace."
        )
        raise NotYet(f"still-{held or 'held'}", why)
    at_most_so_often(end)
    if end["removed"]:
        why = (
            "you took the old file's name away before the new file got it. `os.replace` does both "
            "in one step."
        )
        raise NotYet("removed-first", why)
    if not moved:
        why = (
            "it returned, but it didn't do what `os.replace(new, path)` does: the file from `new` "
            "must be at `path`, with no other file beside it."
        )
        raise NotYet("not-moved", why)
    layer, expected = end["layer"], f"{wanted.dtype} of shape {wanted.shape}"
    got = f"`{layer}`" if isinstance(layer, str) else f"{layer.dtype} of shape {layer.shape}"
    if got != expected or layer.tobytes() != wanted.tobytes():
        got = "other numbers" if got == expected else got
        raise NotYet(
            "other-layer",
            f"expected the layer, {expected}, from byte `offset` of the old file, got {got}.",
        )


def in_vain(end: dict, as_before: bool) -> None:
    """Raises NotYet unless it raised PermissionError, in time, because another reader had the file
    all the time.
    """
    meanwhile = "another program had the file mapped all the time, and"
    if not as_before:
        raise NotYet("file-lost", f"{meanwhile} now the two files aren't what they were.")
    if not end["raised"]:
        why = (
            f"{meanwhile} `swap` returned as if the new file had taken its place. Re-raise the "
            "PermissionError."
        )
        raise NotYet("swallowed", why)
    at_most_so_often(end)
    if not SOONEST <= end["waited"] <= LATEST:
        why = f"you gave up after {end['waited']:.2f} s. Give up after about a second."
        raise NotYet("not-a-second", f"{meanwhile} {why}")


def at_most_so_often(end: dict) -> None:
    if end["tries"] > TRIES:
        why = (
            f"another program had the file mapped, and you tried {end['tries']:,} times; the limit "
            f"is {TRIES}. Sleep "
        )
        raise NotYet("too-many-tries", f"{why}between two tries, longer each time.")
