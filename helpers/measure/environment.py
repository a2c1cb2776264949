"""Measure a function in an environment made for it: a command sets it up, then becomes the interpreter (exec)."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from ..units import in_words
from ..units import size as in_bytes
from .machine import NotMeasuredHere
from .recording import Recording
from .run import Options, measured

# unshare(1): mounts that only the measured process sees, without root; they go when it ends. A script comes next.
OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


def measured_in(
    command: Sequence[str], function: Callable, *args: Any, name: str, file_system: str, read_ahead: int | None = None
) -> Recording:
    """`measure(function, *args)` where `command` has prepared things. Its Machine has this file system and read-ahead.

    NotMeasuredHere, with what the command says, where it doesn't work. `name` is what was to be made: "small disk".
    """
    reason = f"it needs Linux, and this is {sys.platform}" if sys.platform != "linux" else why_no_start(command)
    if reason:
        raise NotMeasuredHere(f"no {name} can be made here: {reason}")
    run = measured(function, args, Options(command=command))
    return replace(run, machine=replace(run.machine, file_system=file_system, read_ahead=read_ahead))


def why_no_start(command: Sequence[str]) -> str | None:
    """Why `command` starts nothing, in its own words, found by trying it; None if it works."""
    try:
        trial = subprocess.run((*command, "true"), capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (trial.stderr.strip() or f"{command[0]} ended with {trial.returncode}") if trial.returncode else None


def on_small_disk(function: Callable, *args: Any, size: int | str = "1 MiB") -> Recording:
    """`measure(function, folder, *args)`, where `folder` (a Path) is a disk of `size`: bytes or "1 MiB".

    The disk is a tmpfs(5) that only the measured process sees, and that goes when it ends. The process meets a full
    disk as it would elsewhere: `ended == "SIGBUS"` if there's no room for a page of a mapping, ENOSPC from
    posix_fallocate(3) and write(2).

    ValueError for a size of 0, or more than the machine's memory, which would have to hold it.
    NotMeasuredHere where there are no user namespaces: not Linux, or a container that forbids them.
    """
    length = in_bytes(size)
    if not length:
        raise ValueError("to tmpfs(5), a disk of 0 bytes has no limit; use at least a page")
    check_fits_in_memory(length, "disk")
    script = f'mount -t tmpfs -o size={length} none "$0" && exec "$@"'
    # Not just "tmpfs": a run that is there by mistake has no disk to show, and `recorded` then shows another run.
    file_system = f"tmpfs of {in_words(length, 'bytes')}"
    with tempfile.TemporaryDirectory(prefix="small-disk-") as folder:
        command = (*OWN_MOUNTS, script, folder)
        return measured_in(command, function, Path(folder), *args, name="small disk", file_system=file_system)


def check_fits_in_memory(length: int, name: str) -> None:
    if length > (memory := psutil.virtual_memory().total):
        most = in_words(memory, "bytes")
        raise ValueError(f"a {name} of {in_words(length, 'bytes')} is more than this machine's memory of {most}")
