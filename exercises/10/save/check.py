"""10.save: the old file whole for its readers, the new one all at once and synced first, nothing left by a failure."""

import stat
from dataclasses import replace
from pathlib import Path
from secrets import randbelow

import numpy as np

from helpers.make import random_file
from helpers.teach.judging import CRASHED, Attempt, NotYet, Verdict, first_difference, within
from helpers.units import MiB

BUDGET = 16 * MiB  # of 32; importing helpers.make takes 11
FAILURES = {"full": "the disk was full half-way", "interrupted": "Ctrl-C came while it was syncing"}


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, folder: str, source: str, np) -> dict:
    """What readers see while the function saves the numbers in `source` over shared/weights.bin, and what it leaves.

    They look before each of the function's steps (bytecodes). Then the function is called in two more folders: "full",
    where no file may grow past half of what is to be written (RLIMIT_FSIZE, setrlimit(2); None where there is none),
    and "interrupted", by Ctrl-C when it syncs. numpy is an argument so that it is loaded before anything is measured.
    """
    import os
    import sys
    import tempfile

    path = os.path.join(folder, "shared", "weights.bin")
    tempfile.tempdir = os.path.join(folder, "tmp")  # what is left in either goes with the folder
    os.chdir(os.path.join(folder, "here"))
    array = np.frombuffer(mapped(source), np.float32)
    told = {"seen": None, "elsewhere": None, "mode": os.stat(path).st_mode}
    look = readers(path, array.view(np.uint8), told)
    sync = noted_syncs(function, path, array.nbytes)

    def watched(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # what others wrote is one step
        frame.f_trace_opcodes = True
        if event == "opcode":
            look()
        return watched

    def heard(event, args):
        if event == "os.rename" and os.path.realpath(os.fsdecode(args[1])) == os.path.realpath(path):
            came_from = os.path.dirname(os.path.realpath(os.fsdecode(args[0])))
            if not f"{came_from}/".startswith(f"{os.path.dirname(path)}/"):
                told["elsewhere"] = came_from

    sys.addaudithook(heard)
    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    sys.settrace(watched)
    try:
        function(array, path)
    except OSError:
        if not told["elsewhere"]:
            raise
    finally:
        sys.settrace(None)
    if told["elsewhere"]:
        return told
    look()
    if told["seen"]:
        return told
    there = os.stat(path)
    told |= {"synced": there.st_ino in sync.done, "left": others(path), "mode": (told["mode"], there.st_mode)}
    told["full"] = failure(function, array, os.path.join(folder, "full"), True) if os.name == "posix" else None
    sync.interrupts = True
    told["interrupted"] = failure(function, array, os.path.join(folder, "interrupted"))
    return told


def readers(path: str, new, told: dict):
    """A function by which two readers look: one has the old file mapped, the other opens the file anew.

    The first time that they see what is neither the old file nor `new`, its bytes, told["seen"] says what it was.
    """
    import os

    size = len(new)
    at = [i * (size - 1) // 63 for i in range(64)]
    reader = None if os.name == "nt" else mapped(path)  # there its mapping would forbid what is asked for
    with open(path, "rb") as file:
        old = some_of(file, at)
    whole, looks = (old, bytes(new[at])), 0

    def look():
        nonlocal looks
        looks += 1
        if told["seen"] or (looks > 2000 and looks % 100):
            return
        if reader and bytes(reader[i] for i in at) != old:  # SIGBUS where the file is shorter now
            told["seen"] = "changed"
            return
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size != size or some_of(file, at) not in whole:
                    told["seen"] = "part"
        except FileNotFoundError:
            told["seen"] = "missing"

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

    for name in ("fsync", "fdatasync"):
        if real := getattr(os, name, None):
            setattr(os, name, noting(real))
            known = getattr(function, "__globals__", {})
            known.update({key: getattr(os, name) for key, value in known.items() if value is real})
    return sync


def failure(function, array, folder: str, full: bool = False) -> dict:
    """What the function leaves of an old file of 1 MiB when it fails to save as much in its place."""
    import os

    path, old, raised, intact = os.path.join(folder, "weights.bin"), b"\1" * 2**20, False, False
    with open(path, "wb") as file:
        file.write(old)
    if full:
        import resource

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) // 2, limits[1]))
    try:
        function(array[: len(old) // 4], path)
    except BaseException:
        raised = True
    if full:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if os.path.exists(path):
        with open(path, "rb") as file:
            intact = file.read() == old
    return {"raised": raised, "intact": intact, "left": others(path)}


def mapped(path: str):
    import mmap

    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


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
    for name in ("shared", "tmp", "here", *FAILURES):
        (attempt.folder / name).mkdir()
    source = random_file(attempt.folder / "source.bin", size, seed=randbelow(2**31))
    target = random_file(attempt.folder / "shared" / "weights.bin", size, seed=2**31)
    try:
        seen = attempt.run(run, str(attempt.folder.resolve()), str(source), np, memory_limit=4 * size + 64 * MiB)
    except NotYet:
        if attempt.recording.ended not in CRASHED:
            raise
        why = (
            f"a reader that has the old file mapped looked at it, and its process was ended "
            f"({attempt.recording.ended}): there are no pages under its mapping any more. "
            '`open(…, "wb")` cuts the file that is there to 0 bytes, whoever uses it.'
        )
        raise NotYet("cut-under-reader", why) from None
    told = seen.value
    never_less_than_whole(told, target, source)
    safe(told)
    done = "The old file stays whole for its readers, the new one comes all at once, a failure leaves nothing"
    verdict = within(seen, BUDGET, done)
    figures = tuple(figure for figure in verdict.figures if not figure.endswith(" calls"))  # most were the readers'
    return replace(verdict, because=verdict.because + new_mode(*map(stat.S_IMODE, told["mode"])), figures=figures)


def never_less_than_whole(told: dict, target: Path, source: Path) -> None:
    """NotYet if a reader saw what is neither the old file nor the new one, in the middle or at the end."""
    at = first_difference(target, source) if target.exists() else 0
    if told["seen"] == "changed":
        why = (
            "a reader that has the old file mapped sees other bytes in its array: you wrote into the file that it maps."
        )
        raise NotYet("written-in-place", f"{why} It needs the old bytes for as long as it looks. Write another file.")
    if told["seen"] == "missing":
        why = (
            "for a moment there was no file: whoever opened it then got FileNotFoundError. `os.replace` takes the name"
        )
        raise NotYet("no-file", f"{why} from the old file and gives it to the new one in one step.")
    if told["seen"] == "part" and at is None:
        why = "whoever opened the file in between found a part of the new one. Give it the name when it is whole: "
        raise NotYet("part-of-a-file", f"{why}written, flushed, synced, closed.")
    if told["elsewhere"]:
        why = (
            f"the new file was made in another folder, `{Path(told['elsewhere']).name}`. Renaming is one step only "
            "within a file system; between two it fails with “Invalid cross-device link”. Make the file in the folder "
            "of `path`."
        )
        raise NotYet("other-folder", why)
    if at is not None:
        why = (
            f"the new file does not hold the bytes of the array: from byte {at:,} on they differ, or one of them ends."
        )
        raise NotYet("other-bytes", why)


def safe(told: dict) -> None:
    """NotYet if something lies beside the file, if it was not synced, or about what was left when it failed."""
    if told["left"]:
        raise NotYet("left-beside", f"all is saved, but now there is {listed(told['left'])} beside the file.")
    if not told["synced"]:
        why = (
            "the file got its name before its bytes were on the disk: if the power fails now, the old file is gone and "
            "the new one may be empty. `file.flush()` hands Python's buffer to the kernel, `os.fsync(file.fileno())` "
            "waits for the disk. Do both before you rename."
        )
        raise NotYet("not-synced", why)
    for name, what in FAILURES.items():
        end = told[name]
        if end is None:
            continue
        if not end["raised"]:
            raise NotYet("swallowed", f"{what}, and `save` returned as if all were well. The caller must hear of it.")
        if not end["intact"]:
            raise NotYet("old-file-lost", f"{what}, and the old file is no longer what it was.")
        if end["left"]:
            why = f"{what}; the old file is as it was, but {listed(end['left'])} stayed beside it."
            raise NotYet("left-after-failure", f"{why} What must run whatever happens belongs in a `finally`.")


def listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def new_mode(before: int, after: int) -> str:
    if before == after:
        return ""
    return (
        f" One thing you were not asked for: the old file had the mode {before:o}, the new one has {after:o}. "
        "(`tempfile` makes files that only their owner may read; `shutil.copymode` mends that.)"
    )
