"""`on_small_disk`: measure a function on a disk that is soon full, without filling anybody's disk."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from ..units import in_words
from ..units import size as in_bytes
from .machine import NotMeasuredHere
from .recording import Recording
from .run import How, measured, why_no_start


def on_small_disk(function: Callable, *args: Any, size: int | str = "1 MiB") -> Recording:
    """`measure(function, folder, *args)`, where `folder` (a Path) is a disk of `size`: bytes or "1 MiB".

    The disk is a tmpfs(5) that only the measured process sees, and that goes when it ends: unshare(1) and mount(8) put
    it in a user and mount namespace of its own, without root. So the process meets a full disk as it would elsewhere:
    `ended == "SIGBUS"` if a page of a mapping finds no room, ENOSPC from posix_fallocate(3) and write(2).

    ValueError for a size of 0, or more than the machine's memory, which would have to hold it.
    NotMeasuredHere where there are no such namespaces: not Linux, or a container that forbids them.
    """
    length = in_bytes(size)
    if not length:
        raise ValueError("to tmpfs(5), a disk of 0 bytes has no limit; use at least a page")
    if length > (memory := psutil.virtual_memory().total):
        most = in_words(memory, "bytes")
        raise ValueError(f"a disk of {in_words(length, 'bytes')} is more than this machine's memory of {most}")
    with tempfile.TemporaryDirectory(prefix="small-disk-") as folder:
        mount = f'mount -t tmpfs -o size={length} none "$0" && exec "$@"'
        command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, folder)
        if why := _why_not(command):
            raise NotMeasuredHere(f"no small disk can be made here: {why}")
        run = measured(function, (Path(folder), *args), How(command=command))
    # Not just "tmpfs": a run that is there by mistake has no disk to show, and `recorded` then shows another run.
    return replace(
        run, machine=replace(run.machine, file_system=f"tmpfs of {in_words(length, 'bytes')}", read_ahead=None)
    )


def _why_not(command: tuple[str, ...]) -> str:
    """Why it doesn't work, in unshare(1)'s or mount(8)'s own words, found by trying; "" if it works."""
    if sys.platform != "linux":
        return f"it needs Linux namespaces, and this is {sys.platform}"
    return why_no_start(command)
