"""10.save: the old file whole for its readers, the new file all at once and synced first, no
leftovers of a failure.
"""

import os
import stat
from dataclasses import replace
from pathlib import Path
from secrets import randbelow

import numpy as np

from helpers.make import random_file
from helpers.teach.inside import no_file_above, not_on_the_disk
from helpers.teach.judging import (
    Attempt,
    NotYet,
    Verdict,
    digest,
    first_difference,
    names_in,
    within,
)
from helpers.units import MiB

BUDGET = 16 * MiB  # of 32; importing helpers.make takes 11
SMALL = 1000  # numbers: Python's buffer still holds them all when `write` has returned
FAILURES = {
    "full": "the disk was full halfway",
    "interrupted": "Ctrl-C came just before the rename",
}
OTHER_FOLDER = (
    "you made the new file in another folder. Renaming works only within a file system; between "
    "two of them it fails with “Invalid cross-device link”, as it did here. Make the file in the "
    "folder of `path`."
)


# --- in the student's process ---------------------------------------------------------------------
def run(function, folder: Path, source: Path, np) -> dict:
    """What was noted while the function saved the numbers in `source` over shared/weights.bin, and
    SMALL of them over small/weights.bin; and whether it raised when it then had to save some in two
    more folders, and couldn't.

    "full": no file may grow past half of what is to be written (True where no limit can be set).
    "interrupted": Ctrl-C. numpy is an argument so that it is loaded before anything is measured.
    """
    import os
    import sys
    import tempfile
    import threading

    tempfile.tempdir = str(folder / "tmp")  # what is left in either goes with the folder
    os.chdir(folder / "here")
    array = np.asarray(np.memmap(source, np.float32, "r"))
    step = {"path": ""}
    noted = syncs(step)
    sys.addaudithook(steps(step))
    threading.setprofile(noted)

    def saved(name, array):
        step.update(gap=False, whole=[], on_disk=[], sparse=False, synced=set(), size=array.nbytes)
        step.update(interrupted=name == "interrupted", path=str(folder / name / "weights.bin"))
        sys.setprofile(noted)
        try:
            function(array, folder / name / "weights.bin")
        finally:
            sys.setprofile(None)
            step["path"] = ""
        return {note: step[note] for note in ("gap", "whole", "on_disk", "sparse")}

    def fails(name):
        try:
            saved(name, array[: MiB // 4])
        except BaseException:
            return True
        return False

    told = {"shared": saved("shared", array), "small": saved("small", array[:SMALL])}
    told["interrupted"] = fails("interrupted")
    if os.name == "posix":
        no_file_above(MiB // 2)
    return told | {"full": os.name != "posix" or fails("full")}


def steps(step: dict):
    """An audit hook (PEP 578): notes what happens to the name step["path"], and interrupts it if
    step["interrupted"].

    "gap": a file lost the name. "whole" and "on_disk": was the file so at the moment it got the
    name? "sparse": a file that has no room on the disk yet was mapped for writing. The hook refuses
    a file from another folder, as if each folder were a file system.
    """
    import errno
    import os

    def real(name, folder=-1):
        head, tail = os.path.split(os.fsdecode(name))
        return os.path.join(
            os.path.realpath(head if folder == -1 else f"/proc/self/fd/{folder}/{head}"), tail
        )

    def mapped(path, file, length, access, offset):
        if file != -1 and access in (0, 2):  # ACCESS_DEFAULT, ACCESS_WRITE
            there = os.fstat(file)
            step["sparse"] |= 512 * getattr(there, "st_blocks", there.st_size) < there.st_size // 2

    def opened(path, name, mode, flags):
        waits = [flag for flag in (getattr(os, "O_SYNC", 0), getattr(os, "O_DSYNC", 0)) if flag]
        if any((flags or 0) & flag == flag for flag in waits):
            step["synced"].add(real(name))

    def removed(path, name, folder):
        step["gap"] |= real(name, folder) == path

    def renamed(path, old, new, old_folder, new_folder):
        old, new = real(old, old_folder), real(new, new_folder)
        step["gap"] |= old == path or (new == path and not os.path.lexists(path))
        if new != path:
            return
        if step["interrupted"]:
            raise KeyboardInterrupt
        if not old.startswith(os.path.dirname(path) + os.sep):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        dirty = not_on_the_disk(old)
        step["whole"].append(os.stat(old).st_size == step["size"])
        step["on_disk"].append(old in step["synced"] if dirty is None else not dirty)

    note = {"mmap.__new__": mapped, "open": opened, "os.remove": removed, "os.rename": renamed}

    def hook(event, args):
        if step["path"] and event in note:
            path, step["path"] = step["path"], ""  # don't note what happens in here
            try:
                note[event](path, *args)
            finally:
                step["path"] = path

    return hook


def syncs(step: dict):
    """A profile function (sys.setprofile): when the student calls fsync, fdatasync, sync or a
    mapping's flush, by any name, it adds to step["synced"] the files in the folder of step["path"]
    that are whole by then.
    """
    import mmap
    import os

    def noted(frame, event, called):
        name, path = getattr(called, "__name__", ""), step["path"]
        flushed = name == "flush" and isinstance(getattr(called, "__self__", None), mmap.mmap)
        if event == "c_return" and path and (flushed or name in ("fsync", "fdatasync", "sync")):
            there = os.scandir(os.path.dirname(path))
            step["synced"] |= {file.path for file in there if file.stat().st_size == step["size"]}

    return noted


# --- outside of it --------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    # no whole number of pages
    folder, size = (attempt.folder.resolve(), attempt.size + 4 * (1 + randbelow(1000)))
    for name in ("shared", "small", "tmp", "here", *FAILURES):
        (folder / name).mkdir()
        (folder / name / "weights.bin").write_bytes(b"old")
    source = attempt.random_file(size=size)
    target = random_file(folder / "shared" / "weights.bin", size, seed=2**31)
    # a reader that has mapped the old file sees these bytes
    os.link(target, attempt.own / "old.bin")
    mode, old, before = (
        stat.S_IMODE(target.stat().st_mode),
        digest(target),
        digest(folder / "full" / "weights.bin"),
    )
    means = {"cross-device link": ("other-folder", OTHER_FOLDER)}
    seen = attempt.run(run, folder, source, np, memory_limit=4 * size + 64 * MiB, means=means)
    now = digest(attempt.own / "old.bin")
    (attempt.own / "old.bin").unlink()
    if now != old:
        why = (
            "a reader that has the old file mapped sees other bytes in its array, or none: you "
            "wrote to the file that it maps, or truncated it, as `open(…, 'wb')` does. It needs "
            "the old bytes for as long as it reads. Write to another file."
        )
        raise NotYet("written-in-place", why)
    twin, few = attempt.twin(source), attempt.own / "few.bin"
    replaced(seen.value["shared"], target, twin)
    with twin.open("rb") as file:
        few.write_bytes(file.read(4 * SMALL))
    try:
        replaced(seen.value["small"], folder / "small" / "weights.bin", few)
    except NotYet as slip:
        raise NotYet(slip.cause, f"for an array of {SMALL:,} numbers: {slip.because}") from None
    safe(seen.value, folder, before)
    done = (
        "The old file stays whole for its readers, the new one comes all at once, and a failure "
        "leaves nothing behind"
    )
    verdict, now = within(seen, BUDGET, done, half="it's safe"), stat.S_IMODE(target.stat().st_mode)
    more = (
        f" (The old file had mode {mode:o}, the new file has {now:o}; `shutil.copymode` fixes "
        "that.)"
    )
    return replace(verdict, because=verdict.because + (more if now != mode else ""))


def replaced(told: dict, target: Path, twin: Path) -> None:
    """Raises NotYet unless the new file came whole, in one step, from the disk, and alone."""
    if told["gap"]:
        why = (
            "for a moment there was no file: opening it would have failed. `os.replace` leaves no "
            "such gap."
        )
        raise NotYet("no-file", why)
    if not all(told["whole"]):
        why = "for a moment only part of the new file was there. Give it the name once it's whole."
        raise NotYet("part-of-a-file", why)
    if first_difference(target, twin) is not None:
        raise NotYet(
            "other-bytes",
            "expected a file with the bytes of the array and nothing else, got other bytes.",
        )
    if not told["whole"]:
        why = (
            "the bytes are right, but the check didn't see how the file got its name. Use "
            "`os.replace`, and finish before you return: a caller can't rely on what a thread or "
            "another program does later."
        )
        raise NotYet("not-seen", why)
    if not all(told["on_disk"]):
        why = (
            "the file got its name before its bytes were on the disk: if the power fails now, the "
            "old file is gone and the new one may be empty. Before you rename, `file.flush()` "
            "hands Python's buffer to the kernel, and `os.fsync(file.fileno())` waits for the "
            "disk."
        )
        raise NotYet("not-synced", why)
    left = names_in(target.parent)
    if left != [target.name]:
        raise NotYet(
            "left-beside", f"everything is saved, but you left this beside the file: {left}."
        )


def safe(told: dict, folder: Path, before: bytes) -> None:
    """Raises NotYet if a failure left something behind, or would have, or an old file whose digest
    isn't `before`.
    """
    if told["shared"]["sparse"]:
        why = (
            "you mapped a file that has a length but no room on the disk yet. If the disk is full,"
            " writing to the mapping raises nothing: it kills the process (SIGBUS), and your "
            "`finally` never runs. `write` asks as it goes. `os.posix_fallocate` asks first, but "
            "on Btrfs or ZFS a mapping can't rely on the answer."
        )
        raise NotYet("no-room-asked-for", why)
    for name, what in FAILURES.items():
        left = names_in(folder / name)
        if not told[name]:
            raise NotYet(
                "swallowed",
                f"{what}, and `save` returned as if all were well. The caller must know.",
            )
        if left != ["weights.bin"] or digest(folder / name / "weights.bin") != before:
            got = "other bytes in it" if left == ["weights.bin"] else f"{left}"
            why = f"{what}: expected the old file as it was and nothing beside it, got {got}."
            raise NotYet(
                "left-after-failure",
                f"{why} Code that must run whatever happens belongs in a `finally`.",
            )
