"""10.windows: the layer, owned; the new file in place as soon as nobody has the old one; else the error, in time."""

import os
import secrets
from dataclasses import replace

import numpy as np

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach.inside import is_mapped
from helpers.teach.judging import Attempt, NotYet, Verdict, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB
SOONEST, LATEST, TRIES = 0.5, 2.5, 50  # seconds, seconds, and how often it may try
MEANS = {
    "exported pointers exist": (
        "view-has-a-name",
        "it raised BufferError: closing the mapping is right, but a view of it still has a name. Copy the layer, and "
        "let the view go before the mapping closes.",
    ),
    "Windows error 1224": (
        "cut-while-mapped",
        "you cut the old file while it was mapped, or opened it for writing; Windows refuses that. "
        "`os.replace(new, path)` puts another file in its place.",
    ),
}


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, cases: list[tuple], np) -> list[dict]:
    """What each call of function(path, offset, count, new) came to, up to the first that did not do its work.

    A case is these four; the right layer, as `as_data` gives it; and who else has the file at `path` mapped: "nobody",
    somebody who "leaves" at the second try, or somebody who "stays". numpy is an argument so that it is loaded before
    anything is measured.
    """
    import mmap
    import os
    import sys
    import time
    from pathlib import Path

    told, ends = {}, []
    sys.addaudithook(windows(told))
    count_sleeps(function, told)
    for path, offset, count, new, wanted, other in cases:
        old, reader, inode = None, None, os.stat(new).st_ino
        if other != "nobody":
            old = Path(path).read_bytes()
            with open(path, "rb") as file:
                reader = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        told |= {"tries": 0, "removed": False, "held": "held", "raised": False, "layer": None, "slept": 0}
        told |= {"path": path, "reader": reader, "leaves": other == "leaves"}
        began = time.perf_counter()
        try:
            told["layer"] = as_data(function(path, offset, count, new))
        except PermissionError:
            told["raised"] = True
        told["path"] = None
        told["waited"] = (
            told["slept"] or time.perf_counter() - began
        )  # a busy machine sleeps longer than it is asked to
        if reader is not None:
            reader.close()
        del told["reader"]
        told["moved"] = os.path.exists(path) and os.stat(path).st_ino == inode
        told["as before"] = os.path.exists(new) and os.path.exists(path) and Path(path).read_bytes() == old
        ends.append(dict(told))
        if not told["moved"] or told["removed"] or told["layer"] != wanted:
            break
    return ends


def windows(told: dict):
    """An audit hook (PEP 578) that notes what is tried with the file at told["path"], and refuses what Windows refuses.

    That is to replace, rename or delete a file that this process has open or mapped, and to cut one that it has mapped.
    What is open is read in proc_pid_fd(5); without /proc only the other reader is seen.
    """
    import errno
    import os

    def held(path):
        mapped = is_mapped(path)
        if mapped is None:
            return None if told["reader"] is None or told["reader"].closed else "mapped"
        if mapped:
            return "mapped"
        there = {os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
        return "open" if path in there else None

    def same(one, path):
        paths = str | bytes | os.PathLike  # it may be a file descriptor
        return isinstance(one, paths) and os.path.realpath(os.fsdecode(one)) == path

    def refuse(event, args):
        path = told.get("path")
        if not path or event not in ("os.rename", "os.remove", "os.truncate", "open"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_TRUNC):
            return
        away, put = same(args[0], path), event == "os.rename" and same(args[1], path)
        if not away and not put:
            return
        told["tries"] += event == "os.rename"
        told["removed"] |= away and event in ("os.rename", "os.remove")
        if told["leaves"] and told["tries"] == 2:
            told["reader"].close()
        why = None if os.name == "nt" else held(path)
        if why == "mapped" and event in ("open", "os.truncate"):
            raise OSError(errno.EINVAL, "Invalid argument; on Windows error 1224, the file is mapped", path)
        if why and event in ("os.rename", "os.remove"):
            told["held"] = why
            raise PermissionError(errno.EACCES, f"Access is denied; on Windows error 5, the file is {why}", path)

    return refuse


def count_sleeps(function, told: dict) -> None:
    """Adds up in told["slept"] for how many seconds the function asks time.sleep to sleep."""
    import time

    real = time.sleep

    def sleep(seconds):
        told["slept"] += seconds
        real(seconds)

    time.sleep = sleep
    known = getattr(function, "__globals__", {})
    known.update({name: sleep for name, value in known.items() if value is real})


def as_data(layer) -> tuple[str, int]:
    """What it is, and the CRC-32 of its bytes."""
    import zlib

    if hasattr(layer, "dtype") and hasattr(layer, "tobytes"):
        return f"{layer.dtype} of shape {layer.shape}", zlib.crc32(layer.tobytes())
    return f"`{type(layer).__name__}`", 0


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    cases, count = [], 64 * KiB
    for other, size in (("nobody", attempt.size), ("leaves", MiB), ("stays", MiB)):
        folder = attempt.folder.resolve() / other
        folder.mkdir()
        path = random_file(folder / "weights.bin", size, seed=secrets.randbelow(2**31))
        new = random_file(folder / "next.bin", size, seed=2**31)
        offset = 4 * (16 * KiB + 1 + secrets.randbelow(16 * KiB))
        wanted = as_data(np.fromfile(path, np.float32, count, offset=offset))
        cases.append((str(path), offset, count, str(new), wanted, other))
    seen = attempt.run(run, cases, np, memory_limit=4 * attempt.size + 64 * MiB, means=MEANS)
    for end, (*_, wanted, other) in zip(seen.value, cases, strict=False):
        if other == "stays":
            in_vain(end)
        else:
            swapped(end, wanted, other)
    verdict = within(seen, BUDGET, "You hold nothing of the old file, wait for another reader, and give up in time")
    if os.name != "nt" and maps.why_not():
        more = " Whether a mapping of your own was open could not be seen here; Windows would have seen it."
        return replace(verdict, because=verdict.because + more)
    return verdict


def swapped(end: dict, wanted: tuple[str, int], other: str) -> None:
    """NotYet if the new file is not in place although it could be, or the layer is not the old file's."""
    if end["raised"] and other == "leaves":
        why = "another program had the file mapped when you tried, and you gave up at once. Wait, and try again."
        raise NotYet("tried-once", why)
    if end["raised"]:
        why = (
            f"nobody else had the file, but you still had it {end['held']} when you replaced it. `with` closes a file. "
            "A view keeps its mapping: `[:]` makes one more view, and an `np.memmap` that still has a name is a view "
            "too. `.copy()` what you need, and let go of the rest before you replace."
        )
        raise NotYet(f"still-{end['held']}", why)
    at_most_so_often(end)
    if end["removed"]:
        why = "you took the old file's name away before you gave it to the new one. `os.replace` does both in one step."
        raise NotYet("removed-first", why)
    if not end["moved"]:
        why = (
            "it returned, but the file at `path` is not the one that was at `new`. Move that: `os.replace(new, path)`."
        )
        raise NotYet("not-moved", why)
    if end["layer"] != wanted:
        got = "other numbers" if end["layer"][0] == wanted[0] else end["layer"][0]
        why = f"expected the layer, {wanted[0]}, from byte `offset` of the old file, got {got}."
        raise NotYet("other-layer", why)


def in_vain(end: dict) -> None:
    """NotYet if anything but a PermissionError, in time, came of it while another reader had the file all the time."""
    meanwhile = "another program had the file mapped all the time, and"
    if not end["as before"]:
        raise NotYet("file-lost", f"{meanwhile} now the old file and the new one are not as they were.")
    if not end["raised"]:
        why = f"{meanwhile} `swap` returned as if the new file had taken its place. Raise the PermissionError again."
        raise NotYet("swallowed", why)
    at_most_so_often(end)
    if not SOONEST <= end["waited"] <= LATEST:
        raise NotYet(
            "not-a-second", f"{meanwhile} you gave up after {end['waited']:.2f} s. Give up after about a second."
        )


def at_most_so_often(end: dict) -> None:
    if end["tries"] > TRIES:
        why = f"another program had the file mapped, and you tried {end['tries']:,} times; {TRIES} are the most. Sleep "
        raise NotYet("too-many-tries", f"{why}between two tries, and longer each time.")
