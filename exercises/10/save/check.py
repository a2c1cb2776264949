"""10.save: the old file whole for its readers, the new one all at once and synced first, nothing left by a failure."""

import os
import stat
import zlib
from dataclasses import replace
from pathlib import Path
from secrets import randbelow

import numpy as np

from helpers.make import random_file
from helpers.teach.inside import no_file_above
from helpers.teach.judging import Attempt, NotYet, Verdict, within
from helpers.units import MiB

BUDGET = 16 * MiB  # of 32; importing helpers.make takes 11
FAILURES = {"full": "the disk was full half-way", "interrupted": "Ctrl-C came just before the renaming"}
OTHER_FOLDER = (
    "you made the new file in another folder. Renaming is one step only within a file system; between two it fails, "
    "with “Invalid cross-device link”, as it did here. Make the file in the folder of `path`."
)


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, folder: Path, source: Path, np) -> dict:
    """What was noted of its steps while the function saved the numbers in `source` over shared/weights.bin, and whether
    it raised when it then was to save a few of them in two more folders, and could not.

    "full": no file may grow past half of what is to be written (True where that cannot be had). "interrupted": Ctrl-C.
    numpy is an argument so that it is loaded before anything is measured.
    """
    import os
    import sys
    import tempfile
    import threading

    tempfile.tempdir = str(folder / "tmp")  # what is left in either goes with the folder
    os.chdir(folder / "here")
    array = np.asarray(np.memmap(source, np.float32, "r"))
    step = {"path": None}
    noted = syncs(step)
    sys.addaudithook(steps(step))
    threading.setprofile(noted)

    def saved(array, name, interrupted=False):
        path = folder / name / "weights.bin"
        step.update(gap=False, whole=[], on_disk=[], sparse=False, synced=set(), interrupted=interrupted)
        step.update(size=array.nbytes, path=str(path))
        sys.setprofile(noted)
        try:
            function(array, path)
        finally:
            sys.setprofile(None)
            step["path"] = None

    def fails(name, interrupted=False):
        try:
            saved(array[: MiB // 4], name, interrupted)
        except BaseException:
            return True
        return False

    saved(array, "shared")
    told = {name: step[name] for name in ("gap", "whole", "on_disk", "sparse")}
    told["inode"] = os.stat(folder / "shared" / "weights.bin").st_ino if told["whole"] else None
    told["interrupted"] = fails("interrupted", interrupted=True)
    if os.name == "posix":
        no_file_above(MiB // 2)
    told["full"] = os.name != "posix" or fails("full")
    return told


def steps(step: dict):
    """An audit hook (PEP 578): notes what is done to the name step["path"], and interrupts it if step["interrupted"].

    "gap": the name was taken away from a file. "whole" and "on_disk": was the file that was given the name so, at that
    moment? "sparse": a file that has no room on the disk yet was mapped to be written to. A file of another folder is
    refused, as if each folder were a file system.
    """
    import errno
    import os

    def real(name, folder=-1):
        head, tail = os.path.split(os.fsdecode(name))
        return os.path.join(os.path.realpath(head if folder == -1 else f"/proc/self/fd/{folder}/{head}"), tail)

    def note(path, event, args):
        if event == "mmap.__new__" and args[0] != -1 and args[2] in (0, 2):  # ACCESS_DEFAULT, ACCESS_WRITE
            file = os.fstat(args[0])
            step["sparse"] |= 512 * getattr(file, "st_blocks", file.st_size) < file.st_size // 2
        elif event == "open" and isinstance(args[2], int):
            waits = getattr(os, "O_SYNC", 0), getattr(os, "O_DSYNC", 0)
            if any(flag and args[2] & flag == flag for flag in waits):
                step["synced"].add(real(args[0]))
        elif event == "os.remove":
            step["gap"] |= real(*args) == path
        elif event == "os.rename":
            old, new = real(args[0], args[2]), real(args[1], args[3])
            step["gap"] |= old == path
            if new == path:
                if step["interrupted"]:
                    raise KeyboardInterrupt
                if not old.startswith(os.path.dirname(path) + os.sep):
                    raise OSError(errno.EXDEV, "Invalid cross-device link")
                dirty = not_on_the_disk(old)
                step["whole"].append(os.stat(old).st_size == step["size"])
                step["on_disk"].append(old in step["synced"] if dirty is None else not dirty)

    def hook(event, args):
        if step["path"] and event in ("mmap.__new__", "open", "os.remove", "os.rename"):
            path, step["path"] = step["path"], None  # what is done in here is not to be noted
            try:
                note(path, event, args)
            finally:
                step["path"] = path

    return hook


def syncs(step: dict):
    """A profile function (sys.setprofile): by whatever name the student calls fsync, fdatasync, sync, or the flush of a
    mapping, it adds to step["synced"] the files that are whole then, in the folder of step["path"]."""
    import mmap
    import os

    def noted(frame, event, called):
        name, path = getattr(called, "__name__", ""), step["path"]
        flushed = name == "flush" and isinstance(getattr(called, "__self__", None), mmap.mmap)
        if event == "c_return" and path and (flushed or name in ("fsync", "fdatasync", "sync")):
            there = os.scandir(os.path.dirname(path))
            step["synced"] |= {file.path for file in there if file.stat().st_size == step["size"]}

    return noted


def not_on_the_disk(path: str) -> int | None:
    """How many pages of the file are still to be written: cachestat(2), Linux 6.5; None where nobody can tell."""
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    counts = (ctypes.c_uint64 * 5)()  # in the cache, dirty, being written, …
    with open(path, "rb") as file:
        failed = ctypes.CDLL(None).syscall(451, file.fileno(), (ctypes.c_uint64 * 2)(), counts, 0)
    return None if failed or not counts[0] else counts[1] + counts[2]


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    size = attempt.size + 4 * (1 + randbelow(1000))  # a tail that does not fill a buffer
    folder = attempt.folder.resolve()
    for name in ("shared", "tmp", "here", *FAILURES):
        (folder / name).mkdir()
        (folder / name / "weights.bin").write_bytes(b"old")
    source = random_file(folder / "source.bin", size, seed=randbelow(2**31))
    target = random_file(folder / "shared" / "weights.bin", size, seed=2**31)
    os.link(target, folder / "old.bin")  # who has mapped the old file sees what is there
    mode, digests = target.stat().st_mode, (digest(target), digest(source))
    means = {"cross-device link": ("other-folder", OTHER_FOLDER)}
    seen = attempt.run(run, folder, source, np, memory_limit=4 * size + 64 * MiB, means=means)
    replaced(seen.value, folder / "old.bin", target, source, digests)
    safe(seen.value, folder)
    done = "The old file stays whole for its readers, the new one comes all at once, a failure leaves nothing behind"
    verdict = within(seen, BUDGET, done)
    before, after = stat.S_IMODE(mode), stat.S_IMODE(target.stat().st_mode)
    more = f" (The old file had the mode {before:o}, the new one has {after:o}; `shutil.copymode` mends that.)"
    return replace(verdict, because=verdict.because + (more if before != after else ""))


def digest(path: Path) -> int | None:
    """CRC-32 of a file; None if there is none, or another thing in its place."""
    return zlib.crc32(path.read_bytes()) if path.is_file() and not path.is_symlink() else None


def replaced(told: dict, old: Path, target: Path, source: Path, digests: tuple[int, int]) -> None:
    """NotYet if the old file is not as it was, or if the new one did not come whole, in one step, and from the disk.

    digests: of the old file, and of the source.
    """
    if digest(old) != digests[0]:
        why = (
            "a reader that has the old file mapped sees other bytes in its array, or none: you wrote to the file that "
            "it maps, or cut it, as `open(…, 'wb')` does. It needs the old bytes for as long as it looks. Write "
            "another file."
        )
        raise NotYet("written-in-place", why)
    if told["gap"]:
        why = "for a moment there was no file: opening it was a FileNotFoundError. `os.replace` leaves no such gap."
        raise NotYet("no-file", why)
    if not all(told["whole"]):
        why = "for a moment only a part of the new file was there. Give it the name when it is whole."
        raise NotYet("part-of-a-file", why)
    if digest(target) != digests[1] or target.samefile(source):
        raise NotYet("other-bytes", "expected a file with the bytes of the array and nothing else, got other bytes.")
    if told["inode"] != target.stat().st_ino:
        why = (
            "the bytes are right, but the check did not see how they came to their name. Let `os.replace` do it, and "
            "be done when you return: what another program or a thread does later, no caller can rely on."
        )
        raise NotYet("not-seen", why)


def safe(told: dict, folder: Path) -> None:
    """NotYet if something lies beside the file, if it was not synced, or about what was left when it failed."""
    left, *others = ([file.name for file in (folder / name).iterdir()] for name in ("shared", *FAILURES))
    left.remove("weights.bin")
    if left:
        raise NotYet("left-beside", f"all is saved, but there is {left} beside the file.")
    if not all(told["on_disk"]):
        why = (
            "the file got its name before its bytes were on the disk: if the power fails now, the old file is gone and "
            "the new one may be empty. Before you rename, `file.flush()` hands Python's buffer to the kernel, and "
            "`os.fsync(file.fileno())` waits for the disk."
        )
        raise NotYet("not-synced", why)
    if told["sparse"]:
        why = (
            "you mapped a file that has a length and no room on the disk yet. If the disk is full, writing to the "
            "mapping raises nothing: it ends the process (SIGBUS), and your `finally` with it. `os.posix_fallocate` "
            "asks for the room first, and `write` asks as it goes."
        )
        raise NotYet("no-room-asked-for", why)
    for (name, what), left in zip(FAILURES.items(), others, strict=True):
        path = folder / name / "weights.bin"
        if not told[name]:
            raise NotYet("swallowed", f"{what}, and `save` returned as if all were well. The caller must hear of it.")
        if left != [path.name] or path.read_bytes() != b"old":
            got = "other bytes in it" if left == [path.name] else f"{left}"
            why = f"{what}: expected the old file as it was and nothing beside it, got {got}."
            raise NotYet("left-after-failure", f"{why} What must run whatever happens belongs in a `finally`.")
