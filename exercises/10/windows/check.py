"""10.windows: the layer, owned; the new file in place as soon as nobody has the old one; else the error, in time."""

import os
import secrets
from dataclasses import replace

import numpy as np

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach.judging import Attempt, NotYet, Verdict, called, within
from helpers.units import KiB, MiB

BUDGET = 8 * MiB
SOONEST, LATEST, TRIES = 0.5, 2.5, 50  # seconds, seconds, and how often it may try


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, cases: list[tuple], np) -> list[dict]:
    """What each call of function(path, offset, count, new) came to, up to the first that did not do its work.

    A case is these four; what a right call returns, as `as_data` gives it; and who else has the file at `path` mapped:
    "nobody", somebody who "leaves" at the second try, or somebody who "stays". numpy is an argument so that it is
    loaded before anything is measured.
    """
    import os
    import sys
    import time

    told, ends = {}, []
    sys.addaudithook(windows(told))
    count_sleeps(function, told)
    for path, offset, count, new, wanted, other in cases:
        old = None if other == "nobody" else checksum(path)  # reading the large file would count
        inode = os.stat(new).st_ino
        told |= {"tries": 0, "removed": False, "why": None, "raised": False, "layer": None, "slept": 0, "other": other}
        told |= {"reader": None if other == "nobody" else mapped(path), "path": path}
        began = time.perf_counter()
        try:
            told["layer"] = as_data(function(path, offset, count, new))
        except PermissionError:
            told["raised"] = True
        told["path"] = None
        told["waited"] = (
            told["slept"] or time.perf_counter() - began
        )  # a busy machine sleeps longer than it is asked to
        reader = told.pop("reader")
        if reader is not None:
            reader.close()
        told["moved"] = os.path.exists(path) and os.stat(path).st_ino == inode
        told["waits"] = os.path.exists(new)
        told["intact"] = old is not None and os.path.exists(path) and checksum(path) == old
        ends.append(dict(told))
        if not told["moved"] or told["removed"] or told["layer"] != wanted:
            break
    return ends


def windows(told: dict):
    """An audit hook (PEP 578) that notes what is tried with the file at told["path"], and refuses what Windows refuses.

    That is to replace, rename or delete a file that this process has open or mapped, and to cut one that it has mapped.
    What is open and mapped is read in proc_pid_fd(5) and proc_pid_maps(5); without these only the other reader is seen.
    """
    import errno
    import os

    def held(path):
        if not os.path.exists("/proc/self/maps"):
            return None if told["reader"] is None or told["reader"].closed else "mapped"
        with open("/proc/self/maps") as maps:
            if any(line.rstrip("\n").endswith(f" {path}") for line in maps):
                return "mapped"
        for fd in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{fd}") == path:
                    return "open"
            except FileNotFoundError:  # the one that listed the others
                pass
        return None

    def same(one, path):
        paths = str | bytes | os.PathLike  # it may be a file descriptor
        return isinstance(one, paths) and os.path.realpath(os.fsdecode(one)) == os.path.realpath(path)

    def refuse(event, args):
        path = told.get("path")
        if not path or event not in ("os.rename", "os.remove", "os.truncate", "open"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_TRUNC):
            return
        touched = [same(one, path) for one in args[: 2 if event == "os.rename" else 1]]
        if not any(touched):
            return
        told["tries"] += event == "os.rename"
        told["removed"] |= event in ("os.rename", "os.remove") and touched[0]
        if told["other"] == "leaves" and told["tries"] == 2:
            told["reader"].close()
        why = None if os.name == "nt" else held(path)
        if why == "mapped" and event in ("open", "os.truncate"):
            raise OSError(errno.EINVAL, "Invalid argument; on Windows error 1224, the file is mapped", path)
        if why and event in ("os.rename", "os.remove"):
            told["why"] = why
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


def as_data(layer) -> tuple | str:
    """dtype, shape and CRC-32 of the bytes of an array; of anything else the name of its type."""
    import zlib

    if hasattr(layer, "dtype") and hasattr(layer, "tobytes"):
        return str(layer.dtype), tuple(layer.shape), zlib.crc32(layer.tobytes())
    return type(layer).__name__


def checksum(path: str) -> int:
    import zlib

    with open(path, "rb") as file:
        return zlib.crc32(file.read())


def mapped(path: str):
    import mmap

    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    count = 64 * KiB
    cases = []
    for other, size in (("nobody", attempt.size), ("leaves", MiB), ("stays", MiB)):
        (attempt.folder / other).mkdir()
        path = random_file(attempt.folder / other / "weights.bin", size, seed=secrets.randbelow(2**31))
        new = random_file(attempt.folder / other / "next.bin", size, seed=2**31)
        offset = 4 * (16 * KiB + 1 + secrets.randbelow(16 * KiB))
        wanted = as_data(np.fromfile(path, np.float32, count, offset=offset))
        cases.append((str(path.resolve()), offset, count, str(new.resolve()), wanted, other))
    try:
        seen = attempt.run(run, cases, np, memory_limit=4 * attempt.size + 64 * MiB)
    except NotYet:
        could_not_be_closed_or_cut(attempt.recording.error or "")
        raise
    for end, (*_, wanted, other) in zip(seen.value, cases, strict=False):
        {"nobody": alone, "leaves": when_it_leaves, "stays": while_it_stays}[other](end, wanted)
    verdict = within(seen, BUDGET, "You hold nothing of the old file, you wait for who does, you give up in time")
    if os.name != "nt" and maps.why_not():
        more = " Whether a mapping of your own was open could not be seen here; Windows would have seen it."
        return replace(verdict, because=verdict.because + more)
    return verdict


def could_not_be_closed_or_cut(error: str) -> None:
    if "exported pointers exist" in error:
        why = (
            "it raised BufferError: you close the mapping, and that is right, but a view of it still has a name. Copy "
        )
        raise NotYet("view-has-a-name", f"{why}the layer, and let the view go before the mapping closes.")
    if "Windows error 1224" in error:
        why = "you cut the old file while it was mapped, or opened it for writing; Windows refuses that. "
        raise NotYet("cut-while-mapped", f"{why}`os.replace(new, path)` puts another file in its place.")


def alone(end: dict, wanted: tuple) -> None:
    """NotYet if it did not work although nobody else had the file."""
    if end["raised"] and end["why"] == "open":
        why = (
            "nobody else had the file, but you still had it open when you replaced it. On Windows an open file can't be"
        )
        raise NotYet("still-open", f"{why} replaced, just like a mapped one. `with` closes it.")
    if end["raised"]:
        why = (
            f"nobody else had the file, but you still had it {end['why'] or 'mapped, or open'} when you replaced it. A "
            "view keeps its mapping: `[:]` makes one more view, and an `np.memmap` that still has a name is one. "
            "`.copy()` what you need, and let go of the rest before you replace."
        )
        raise NotYet("still-mapped", why)
    done(end, wanted)


def when_it_leaves(end: dict, wanted: tuple) -> None:
    """NotYet if it did not work although the other reader left after the first try."""
    if end["raised"]:
        why = "another program had the file mapped when you tried, and you gave up at once. Wait, and try again."
        raise NotYet("tried-once", why)
    at_most_so_often(end)
    done(end, wanted)


def while_it_stays(end: dict, wanted: tuple) -> None:
    """NotYet if anything but a PermissionError, in time, came of it while another reader had the file all the time."""
    meanwhile = "another program had the file mapped all the time, and"
    if not end["intact"]:
        raise NotYet("old-file-lost", f"{meanwhile} now the old file is not what it was.")
    if not end["waits"]:
        raise NotYet("new-file-lost", f"{meanwhile} when you gave up, the new file was gone.")
    if not end["raised"]:
        why = f"{meanwhile} `swap` returned as if the new one had taken its place. Raise the PermissionError again."
        raise NotYet("swallowed", why)
    at_most_so_often(end)
    if end["waited"] < SOONEST:
        why = f"you gave up after {end['waited']:.2f} s. Whoever reads a file is often done in a second."
        raise NotYet("gave-up-too-soon", why)
    if end["waited"] > LATEST:
        why = f"you tried for {end['waited']:.1f} s, and somebody waits for you. Give up after about a second."
        raise NotYet("gave-up-too-late", why)


def at_most_so_often(end: dict) -> None:
    if end["tries"] > TRIES:
        why = f"another program had the file mapped, and you tried {end['tries']:,} times; {TRIES} are the most. Sleep "
        raise NotYet("too-many-tries", f"{why}between two tries, and longer each time.")


def done(end: dict, wanted: tuple) -> None:
    """NotYet if the new file did not take the place of the old one in one step, or it did not return the layer."""
    if end["removed"]:
        why = (
            "you took the old file's name away before you gave it to the new one. In between there is no file, and if "
        )
        raise NotYet("removed-first", f"{why}the next step fails, none afterwards. `os.replace` does both in one step.")
    if not end["moved"]:
        why = "it returned, but the file at `path` is not the one that was at `new`. Move it, `os.replace(new, path)`: "
        raise NotYet("not-moved", f"{why}copying its bytes changes the old file under its readers.")
    layer = end["layer"]
    if isinstance(layer, str):
        raise NotYet("no-array", f"it returned {called(layer)}. The caller wants the old layer, an array.")
    if layer[:2] != wanted[:2]:
        why = f"expected {wanted[0]} of shape {wanted[1]}, got {layer[0]} of shape {layer[1]}."
        raise NotYet("wrong-shape", why)
    if layer != wanted:
        why = "your array has other numbers than the layer, which begins at byte `offset` of the old file."
        raise NotYet("other-numbers", why)
