"""11.publish: the old file whole for its readers; killed before a call, the old file or the new;
then again, and all is well; the bytes and then the name on the disk; a full disk leaves nothing.
"""

import os
from pathlib import Path
from secrets import randbelow, token_bytes

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
from helpers.units import KiB, MiB

BUDGET = 16 * MiB  # of 32; importing helpers.make takes 11
SMALL = 192 * KiB  # the files that are published when it's killed
# kills at most, half of them before the last calls; after one in three it's published again
KILLS, AGAIN = (40, 3)
NAME = "digits.safetensors"
FORK, WAIT, LINK = (
    getattr(os, "fork", None),
    getattr(os, "waitpid", None),
    getattr(os, "link", None),
)
OTHER_DISK = (
    "you renamed or linked a file from another folder, as if it were on the same disk. Between two "
    "disks that fails with “Invalid cross-device link”, as it did here. Copy `new` to a file in "
    "the folder of `path`, and rename that."
)


# --- in the student's process ---------------------------------------------------------------------
def run(
    function, new: Path, small: Path, folder: Path, kills: int, fork=FORK, wait=WAIT, link=LINK
) -> dict:
    """What was noted while the function published `new` at shared/NAME, and whether it raised when
    the disk was full.

    In between, it publishes the file `small` in a folder for each kill: in a fork, which is killed
    before one of its calls, and after some kills once more. What the name leads to after the kill
    gets a second name, for the judge.
    """
    import os
    import signal
    import sys
    import tempfile

    tempfile.tempdir = str(folder / "tmp")
    name = next((folder / "shared").iterdir()).name
    step = {"path": os.path.realpath(folder / "shared" / name), "synced": set(), "on_disk": []}
    sys.addaudithook(renames(step))

    def published(source, place, profile=None):
        sys.setprofile(profile)
        try:
            function(source, folder / place / name)
        finally:
            sys.setprofile(None)

    published(new, "shared", syncs(step))
    there, step["path"] = os.stat(folder / "shared"), ""
    told = {
        "on_disk": step["on_disk"],
        "name": bool(step["synced"] & {"all", (there.st_dev, there.st_ino)}),
    }
    if os.listdir(folder / "killed"):  # a second run, to measure the heap
        return told

    def killed(place, last):
        """Publishes in a fork, which is killed before call number `last`."""
        if pid := fork():
            return wait(pid, 0)
        try:
            published(
                small,
                place,
                calls(lambda number: number == last and os.kill(os.getpid(), signal.SIGKILL)),
            )
        finally:
            os._exit(0)

    numbers = []
    published(small, "counted", calls(numbers.append))
    count, half = len(numbers), kills // 2
    moments = {
        *range(max(0, count - half), count),
        *(part * count // half for part in range(half)),
    }
    told |= {"kills": 0, "again": ""}
    for kill, moment in enumerate(sorted(moments)):
        place = f"kill-{kill}"
        killed(place, moment)
        if os.path.lexists(folder / place / name):
            link(folder / place / name, folder / "killed" / str(kill))
        told["kills"] += 1
        try:
            if kill % AGAIN == 0:
                published(small, place)
        except Exception as error:
            told["again"] = f"{type(error).__name__}: {error}"[:200]
            break
    no_file_above(small.stat().st_size // 2)
    try:
        published(small, "full")
    except Exception:
        return told | {"full": True}
    return told | {"full": False}


def calls(note):
    """A profile function (sys.setprofile): note(0), note(1), … before each call of a function of
    `os`, or of a file.
    """
    import itertools

    numbers = itertools.count()

    def before(frame, event, called):
        if event == "c_call":
            of = type(getattr(called, "__self__", None)).__module__
            if {of, getattr(called, "__module__", "")} & {"posix", "io", "_io"}:
                note(next(numbers))

    return before


def renames(step: dict):
    """An audit hook (PEP 578) for as long as there is a step["path"]. It notes whether the bytes
    were on the disk when a file got that name, and empties step["synced"]. It refuses a file from
    elsewhere, as another disk would.
    """
    import errno
    import os

    def real(name, folder):
        head, tail = os.path.split(os.fsdecode(name))
        return os.path.join(
            os.path.realpath(head if folder == -1 else f"/proc/self/fd/{folder}/{head}"), tail
        )

    def hook(event, args):
        if not step["path"] or event not in ("os.rename", "os.link"):
            return
        old, new = real(args[0], args[2]), real(args[1], args[3])
        if not old.startswith(os.path.dirname(new) + os.sep):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        if new == step["path"] and event == "os.rename":
            there, dirty = os.stat(old), not_on_the_disk(old)
            seen = bool(step["synced"] & {"all", (there.st_dev, there.st_ino)})
            step["on_disk"].append(seen if dirty is None else not dirty)
            step["synced"].clear()

    return hook


def syncs(step: dict):
    """A profile function: when fsync, fdatasync or sync has returned, whatever name it was called
    by, it adds each file and folder that is open to step["synced"], or "all".
    """
    import os

    def noted(frame, event, called):
        name = getattr(called, "__name__", "") if event == "c_return" else ""
        if name == "sync":
            step["synced"].add("all")
        for descriptor in range(3, 256) if name in ("fsync", "fdatasync") else ():
            try:
                there = os.fstat(descriptor)
            except OSError:
                continue
            step["synced"].add((there.st_dev, there.st_ino))

    return noted


# --- outside of it --------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    if not FORK:
        raise OSError("it needs fork, which this system lacks; it runs on Linux and macOS")
    folder = attempt.folder.resolve()
    # so that a little stays in a buffer which isn't flushed
    size = attempt.size // MiB * MiB + 1 + randbelow(4000)
    new, small = (
        attempt.random_file("arrived.bin", size),
        attempt.random_file("small.bin", SMALL + 1 + randbelow(KiB)),
    )
    old_bytes = token_bytes(SMALL)
    for each in (
        "tmp",
        "killed",
        "shared",
        "counted",
        "full",
        *(f"kill-{kill}" for kill in range(KILLS)),
    ):
        (folder / each).mkdir()
        if each not in ("tmp", "killed", "shared"):
            (folder / each / NAME).write_bytes(old_bytes)
    target = random_file(folder / "shared" / NAME, attempt.size, seed=2**31)
    before = digest(folder / "full" / NAME)
    # a worker that has mapped the old file sees these bytes
    os.link(target, attempt.own / "old.bin")
    old = digest(target)
    limit, means = 4 * attempt.size + 64 * MiB, {"cross-device link": ("other-disk", OTHER_DISK)}
    told = attempt.run(run, new, small, folder, KILLS, memory_limit=limit, means=means).value
    now = digest(attempt.own / "old.bin")
    (attempt.own / "old.bin").unlink()
    if now != old:
        why = (
            "a worker that has mapped the old file sees other bytes in it, or none: you wrote to "
            "that file, or truncated it. It needs the old bytes until its last request has ended. "
            "Write to another file."
        )
        raise NotYet("written-in-place", why)
    if first_difference(target, attempt.twin(new)) is not None:
        raise NotYet("other-bytes", "expected the bytes of `new` at `path`, got other bytes.")
    survived(told, folder, {before, digest(small)})
    on_the_disk(told)
    if names_in(folder / "shared") != [target.name]:
        raise NotYet("left-beside", "all is published, but a file was left beside the model.")
    went_on(told, folder, digest(small))
    failed(told, folder / "full", before)
    done = (
        f"It was killed at {told['kills']} moments: the old model or the new one was there, and "
        "the next call worked"
    )
    return within(attempt.recording, BUDGET, done, half="it's safe")


def survived(told: dict, folder: Path, whole: set[bytes]) -> None:
    """Raises NotYet unless each kill left the whole old file or the whole new file."""
    for kill in range(told["kills"]):
        found = folder / "killed" / str(kill)
        if not found.exists():
            why = (
                "your process was killed, and then there was no file at `path`. `os.replace` "
                "leaves no such gap."
            )
            raise NotYet("no-file", why)
        if digest(found) not in whole:
            why = (
                "your process was killed, and then `path` led to a part of a file. Give a file "
                "that name once it's whole: what is still in a buffer of Python's dies with the "
                "process."
            )
            raise NotYet("part-of-a-file", why)


def on_the_disk(told: dict) -> None:
    """Raises NotYet unless first the bytes and then the name were on the disk."""
    if not told["on_disk"] or not told["kills"]:
        why = (
            "the bytes are right, but the check didn't see how the file got its name. Use "
            "`os.replace`, and finish before you return: another program can't be killed with "
            "yours."
        )
        raise NotYet("not-seen", why)
    if not all(told["on_disk"]):
        why = (
            "the file got its name before its bytes were on the disk: if the power fails now, the "
            "old model is gone and the new one may be empty. `file.flush()`, then "
            "`os.fsync(file.fileno())`, then rename."
        )
        raise NotYet("not-synced", why)
    if not told["name"]:
        why = (
            "you said that the model is safe, but only its bytes are on the disk. If the power "
            "fails now, the name may lead to the old model again, and the client has deleted its "
            "copy. A name is in the folder: sync that too."
        )
        raise NotYet("name-not-synced", why)


def went_on(told: dict, folder: Path, wanted: bytes) -> None:
    """Raises NotYet unless publishing again after a kill worked, and left only the model."""
    if told["again"]:
        raise NotYet(
            "not-again", f"after a kill, `publish` was called again, and raised {told['again']}."
        )
    for kill in range(0, told["kills"], AGAIN):
        names = names_in(folder / f"kill-{kill}")
        if names == [NAME] and digest(folder / f"kill-{kill}" / NAME) != wanted:
            raise NotYet(
                "not-again",
                "after a kill, `publish` was called again, and `path` has other bytes.",
            )
        if names != [NAME]:
            why = (
                "after a kill, `publish` was called again, and now the folder has "
                f"{', '.join(names)}. A kill leaves another file each time, until the disk is "
                "full. What a kill has left, the next call must find."
            )
            raise NotYet("left-behind", why)


def failed(told: dict, folder: Path, before: bytes) -> None:
    """Raises NotYet unless the full disk raised an exception, and left only the old file."""
    if not told["full"]:
        raise NotYet(
            "swallowed",
            "the disk was full, and `publish` returned as if all were well. The caller must know.",
        )
    names = names_in(folder)
    if names != [NAME] or digest(folder / NAME) != before:
        got = "other bytes in it" if names == [NAME] else ", ".join(names)
        why = f"the disk was full: expected the old file and nothing beside it, got {got}."
        raise NotYet(
            "left-after-failure",
            f"{why} Code that must run after an exception belongs in a `finally`.",
        )
