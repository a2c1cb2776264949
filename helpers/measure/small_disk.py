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

    It is a tmpfs(5) that only the measured process sees and that goes when it ends: mounted in a user namespace and
    mount namespace of its own, by unshare(1) and mount(8), without root. So a full disk is found as it is met:
    `ended == "SIGBUS"` where a page of a mapping finds no room, ENOSPC from posix_fallocate(3) and write(2).

    ValueError for a disk of nothing, or of more than the machine's memory, where it would have to be.
    NotMeasuredHere where there are no such namespaces: other systems than Linux, containers that forbid them.
    """
    length = in_bytes(size)
    if not length:
        raise ValueError("a disk of 0 bytes would be one without a limit, tmpfs(5); use a page at least")
    if length > (memory := psutil.virtual_memory().total):
        of = in_words(length, "bytes")
        raise ValueError(f"a disk of {of} is more than this machine's memory of {in_words(memory, 'bytes')}")
    with tempfile.TemporaryDirectory(prefix="small-disk-") as folder:
        mount = f'mount -t tmpfs -o size={length} none "$0" && exec "$@"'
        command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, folder)
        if why := _why_not(command):
            raise NotMeasuredHere(f"a disk of one's own cannot be made here: {why}")
        run = measured(function, (Path(folder), *args), How(command=command))
    # Not "tmpfs" alone: what lives there by mistake has no disk to show, and `recorded` then shows another run.
    return replace(
        run, machine=replace(run.machine, file_system=f"tmpfs of {in_words(length, 'bytes')}", read_ahead=None)
    )


def _why_not(command: tuple[str, ...]) -> str:
    """Found by trying, with the reason that unshare(1) or mount(8) gives; "" where it works."""
    if sys.platform != "linux":
        return f"it takes namespaces of Linux, and this is {sys.platform}"
    return why_no_start(command)
