"""10.save: the old file whole for its readers, the new one all at once and synced first, nothing left by a failure."""

import stat
from dataclasses import replace
from secrets import randbelow

import numpy as np

from helpers.make import random_file
from helpers.teach.inside import no_file_above
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, first_difference, within
from helpers.units import MiB

BUDGET = 16 * MiB  # of 32; importing helpers.make takes 11
FAILURES = {"full": "the disk was full half-way", "interrupted": "Ctrl-C came while it was syncing"}
IN_PLACE = (
    "a reader that has the old file mapped sees other bytes in its array, or none: you wrote to the file that it maps, "
    "or cut it, as `open(…, 'wb')` does. It needs the old bytes for as long as it looks. Write another file."
)
SEEN = {
    "written-in-place": IN_PLACE,
    "no-file": "for a moment there was no file: opening it was a FileNotFoundError. `os.replace` leaves no such gap.",
    "part-of-a-file": "for a moment only a part of the new file was there. Give it the name when it is whole.",
}
OTHER_FOLDER = (
    "you made the new file in another folder. Renaming is one step only within a file system; between two it fails, "
    "with “Invalid cross-device link”, as it did here. Make the file in the folder of `path`."
)
MEANS = {CRASH: ("written-in-place", IN_PLACE), "cross-device link": ("other-folder", OTHER_FOLDER)}


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, folder: str, source: str, np) -> dict:
    """What readers see while the function saves the numbers in `source` over shared/weights.bin, and what it leaves.

    They look before each of the function's steps (bytecodes). Then the function is called in two more folders:
    "interrupted", by Ctrl-C when it syncs, and "full", where no file may grow past half of what is to be written (None
    where that cannot be had). numpy is an argument so that it is loaded before anything is measured.
    """
    import os
    import sys
    import tempfile

    path = os.path.join(folder, "shared", "weights.bin")
    tempfile.tempdir = os.path.join(folder, "tmp")  # what is left in either goes with the folder
    os.chdir(os.path.join(folder, "here"))
    array = np.asarray(np.memmap(source, np.float32, "r"))
    told = {"seen": None}
    mode = os.stat(path).st_mode
    look = readers(path, array.view(np.uint8), told, np)
    sync = noted_syncs(function, path, array.nbytes)

    def watched(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # what others wrote is one step
        frame.f_trace_opcodes = True
        if event == "opcode":
            look()
        return watched

    sys.addaudithook(each_folder_a_file_system(path))
    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    sys.settrace(watched)
    try:
        function(array, path)
    finally:
        sys.settrace(None)
    look()
    if told["seen"]:
        return told
    there = os.stat(path)
    told |= {"synced": there.st_ino in sync.done, "left": others(path), "mode": (mode, there.st_mode), "full": None}
    few = array[: MiB // 4]
    sync.interrupts = True
    told["interrupted"] = failure(function, few, os.path.join(folder, "interrupted"))
    sync.interrupts = False
    if os.name == "posix":
        no_file_above(MiB // 2)
        told["full"] = failure(function, few, os.path.join(folder, "full"))
    return told


def readers(path: str, new, told: dict, np):
    """A function by which two readers look: one has the old file mapped, the other opens the file anew.

    The first time that they see what is neither the old file nor `new`, its bytes, told["seen"] says which of SEEN.
    """
    import os

    size = len(new)
    at = [i * (size - 1) // 63 for i in range(64)]
    reader = None if os.name == "nt" else np.memmap(path, np.uint8, "r")  # there it would forbid what is asked for
    with open(path, "rb") as file:
        old = some_of(file, at)
    whole, looks = (old, bytes(new[at])), 0

    def look():
        nonlocal looks
        looks += 1
        if told["seen"] or (looks > 2000 and looks % 100):
            return
        if reader is not None and bytes(reader[at]) != old:  # SIGBUS where the file is shorter now
            told["seen"] = "written-in-place"
            return
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size != size or some_of(file, at) not in whole:
                    told["seen"] = "part-of-a-file"
        except FileNotFoundError:
            told["seen"] = "no-file"

    return look


def noted_syncs(function, path: str, size: int):
    """`.done`: inodes of the files of `size` bytes synced before they were at `path`. `.interrupts`: Ctrl-C instead."""
    import os
    from types import SimpleNamespace

    sync = SimpleNamespace(done=set(), interrupts=False)

    def noting(real):
        def synced(file):
            if sync.interrupts:
                raise KeyboardInterrupt
            real(file)
            there = os.fstat(file if isinstance(file, int) else file.fileno())
            if there.st_size == size and not (os.path.exists(path) and os.path.samestat(there, os.stat(path))):
                sync.done.add(there.st_ino)

        return synced

    known = getattr(function, "__globals__", {})  # it may have `fsync` by name
    for name in {"fsync", "fdatasync"} & set(dir(os)):
        real = getattr(os, name)
        setattr(os, name, noting(real))
        known.update({key: getattr(os, name) for key, value in known.items() if value is real})
    return sync


def each_folder_a_file_system(path: str):
    """An audit hook (PEP 578) that lets no file of another folder be renamed to `path`."""
    import errno
    import os

    def refuse(event, args):
        if event != "os.rename":
            return
        old, new = (os.path.realpath(os.fsdecode(name)) for name in args[:2])
        if new == path and not old.startswith(os.path.dirname(path) + os.sep):
            raise OSError(errno.EXDEV, "Invalid cross-device link")

    return refuse


def failure(function, array, folder: str) -> tuple[bool, bool, list[str]]:
    """When the function fails to save over an old file: does it raise, is that as it was, and what lies beside it?"""
    from pathlib import Path

    path = Path(folder, "weights.bin")
    path.write_bytes(b"old")
    try:
        function(array, str(path))
        raised = False
    except BaseException:
        raised = True
    return raised, path.exists() and path.read_bytes() == b"old", others(path)


def some_of(file, at: list[int]) -> bytes:
    """The bytes at these places of an open file."""
    return b"".join(file.read(1) for i in at if file.seek(i) == i)


def others(path: str) -> list[str]:
    """What else there is in the folder of `path`."""
    import os

    return sorted(set(os.listdir(os.path.dirname(path))) - {os.path.basename(path)})


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    size = attempt.size + 4 * (1 + randbelow(1000))  # a tail that does not fill a buffer
    folder = attempt.folder.resolve()
    for name in ("shared", "tmp", "here", *FAILURES):
        (folder / name).mkdir()
    source = random_file(folder / "source.bin", size, seed=randbelow(2**31))
    target = random_file(folder / "shared" / "weights.bin", size, seed=2**31)
    seen = attempt.run(run, str(folder), str(source), np, memory_limit=4 * size + 64 * MiB, means=MEANS)
    told = seen.value
    whole = target.exists() and first_difference(target, source) is None
    if told["seen"] and (whole or told["seen"] != "part-of-a-file"):
        raise NotYet(told["seen"], SEEN[told["seen"]])
    if not whole:
        raise NotYet("other-bytes", "expected a file with the bytes of the array and nothing else, got other bytes.")
    safe(told)
    done = "The old file stays whole for its readers, the new one comes all at once, a failure leaves nothing behind"
    verdict = within(seen, BUDGET, done)
    figures = tuple(figure for figure in verdict.figures if not figure.endswith(" calls"))  # most were the readers'
    before, after = map(stat.S_IMODE, told["mode"])
    more = f" (The old file had the mode {before:o}, the new one has {after:o}; `shutil.copymode` mends that.)"
    return replace(verdict, because=verdict.because + (more if before != after else ""), figures=figures)


def safe(told: dict) -> None:
    """NotYet if something lies beside the file, if it was not synced, or about what was left when it failed."""
    if told["left"]:
        raise NotYet("left-beside", f"all is saved, but there is {told['left']} beside the file.")
    if not told["synced"]:
        why = (
            "the file got its name before its bytes were on the disk: if the power fails now, the old file is gone and "
            "the new one may be empty. Before you rename, `file.flush()` hands Python's buffer to the kernel, and "
            "`os.fsync(file.fileno())` waits for the disk."
        )
        raise NotYet("not-synced", why)
    for name, what in FAILURES.items():
        raised, intact, left = told[name] or (True, True, [])
        if not raised:
            raise NotYet("swallowed", f"{what}, and `save` returned as if all were well. The caller must hear of it.")
        if left or not intact:
            got = f"{left} beside it" if left else "other bytes in it"
            why = f"{what}: expected the old file as it was and nothing beside it, got {got}."
            raise NotYet("left-after-failure", f"{why} What must run whatever happens belongs in a `finally`.")
