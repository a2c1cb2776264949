"""Measure a function in an environment made for it: a command sets it up, then becomes the
interpreter (exec).

A small disk is a tmpfs of the process's own. A memory limit is a control group's, as a container's
is.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from ..units import MiB, in_words
from ..units import size as in_bytes
from .machine import NotMeasuredHere
from .recording import Recording
from .run import Options, measured

# unshare(1): mounts that only the measured process sees, without root; they go when it ends. A
# script comes next.
OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
# a fresh interpreter was charged 16 MiB with numpy in it, 24 with this package, 52 with pandas
LEAST = 40 * MiB
VERSION_1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
VERSION_2 = ("memory.max", "memory.swap.max")
GROUP = "zero-copy-{}-{}"  # the pid of its owner, and a random number
ENTER = (  # sh(1) moves itself, then becomes the interpreter
    'echo $$ > "$0/cgroup.procs" && exec "$@"'
)


def measured_in(
    command: Sequence[str],
    function: Callable,
    *args: Any,
    name: str,
    file_system: str,
    read_ahead: int | None = None,
) -> Recording:
    """`measure(function, *args)` where `command` has prepared things. Its Machine has this file
    system and read-ahead.

    NotMeasuredHere, with what the command says, where it doesn't work. `name` is what was to be
    made: "small disk".
    """
    reason = (
        f"it needs Linux, and this is {sys.platform}"
        if sys.platform != "linux"
        else why_no_start(command)
    )
    if reason:
        raise NotMeasuredHere(f"no {name} can be made here: {reason}")
    run = measured(function, args, Options(command=command))
    return replace(
        run, machine=replace(run.machine, file_system=file_system, read_ahead=read_ahead)
    )


def why_no_start(command: Sequence[str]) -> str | None:
    """Why `command` starts nothing, in its own words, found by trying it; None if it works."""
    try:
        trial = subprocess.run((*command, "true"), capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (
        (trial.stderr.strip() or f"{command[0]} ended with {trial.returncode}")
        if trial.returncode
        else None
    )


def on_small_disk(function: Callable, *args: Any, size: int | str = "1 MiB") -> Recording:
    """`measure(function, folder, *args)`, where `folder` (a Path) is a disk of `size`: bytes or "1
    MiB".

    The disk is a tmpfs(5) that only the measured process sees, and that goes when it ends. The
    process meets a full disk as it would elsewhere: `ended == "SIGBUS"` if there's no room for a
    page of a mapping, ENOSPC from posix_fallocate(3) and write(2).

    ValueError for a size of 0, or more than the machine's memory, which would have to hold it.
    NotMeasuredHere where there are no user namespaces: not Linux, or a container that forbids them.
    """
    length = in_bytes(size)
    if not length:
        raise ValueError("to tmpfs(5), a disk of 0 bytes has no limit; use at least a page")
    check_fits_in_memory(length, "disk")
    script = f'mount -t tmpfs -o size={length} none "$0" && exec "$@"'
    # Not just "tmpfs": a run that is there by mistake has no disk to show, and `recorded` then
    # shows another run.
    file_system = f"tmpfs of {in_words(length, 'bytes')}"
    with tempfile.TemporaryDirectory(prefix="small-disk-") as folder:
        command = (*OWN_MOUNTS, script, folder)
        return measured_in(
            command, function, Path(folder), *args, name="small disk", file_system=file_system
        )


def in_memory_limit(function: Callable, *args: Any, limit: int | str = "64 MiB") -> Recording:
    """`measure(function, *args)` in a process whose memory is limited as a container's is: to
    bytes, or "64 MiB".

    The kernel keeps the limit, by a control group (cgroup) made for this process. The group is
    charged for anonymous memory and for the pages of files that the process brings in. At the limit
    the kernel takes file-backed pages back. If there's nothing to take back (the group has no
    swap), it kills the process: `ended == "SIGKILL"`. Pages that are in the page cache already cost
    this process nothing: `drop_from_cache(path)` first.

    Linux Documentation: admin-guide/cgroup-v2.rst (memory.max, memory.swap.max),
    admin-guide/cgroup-v1/memory.rst. The interpreter and its imports count too. ValueError for a
    limit below 40 MiB, too little for them alone, or above the machine's memory. TypeError if the
    function can't be loaded because what it imports doesn't fit. NotMeasuredHere where this user
    can't make a control group: not Linux, most containers.
    """
    length = in_bytes(limit)
    if length < LEAST:
        least = in_words(LEAST, "bytes")
        raise ValueError(
            f"{in_words(length, 'bytes')} is too little for a fresh interpreter; use {least} or "
            "more"
        )
    check_fits_in_memory(length, "limit")
    with group(length) as command:
        return measured(function, args, Options(command=command))


def check_fits_in_memory(length: int, name: str) -> None:
    if length > (memory := psutil.virtual_memory().total):
        most = in_words(memory, "bytes")
        raise ValueError(
            f"a {name} of {in_words(length, 'bytes')} is more than this machine's memory of {most}"
        )


# --- control groups -------------------------------------------------------------------------------
def memory_left() -> tuple[int, int] | None:
    """Bytes that this process can still use, and the limit on them, as a container sets it: in its
    control group or one above, wherever least is left. Pages of files don't count as used, because
    the kernel can take them back. None if nothing limits it, or the limits can't be read.
    """
    whole = psutil.virtual_memory().total
    found = []
    with suppress(OSError):
        for folders, files in _own_groups(*_tables()):
            for folder in folders:
                # the top group has no such file; the limit may be "max"
                with suppress(OSError, ValueError):
                    if (limit := int((folder / files[0]).read_text())) < whole:
                        found.append((limit - _kept(folder, files), limit))
    return min(found, default=None)


def _kept(folder: Path, files: tuple[str, str]) -> int:
    """Bytes charged to a group that aren't pages of files on a disk."""
    used, prefix = (
        ("memory.usage_in_bytes", "total_") if files == VERSION_1 else ("memory.current", "")
    )
    lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
    files_pages = sum(
        int(value)
        for name, value in lines
        if name in (f"{prefix}active_file", f"{prefix}inactive_file")
    )
    return int((folder / used).read_text()) - files_pages


def killed() -> int:
    """How many processes of our own control group the kernel has killed because memory ran out; 0
    if it doesn't say.
    """
    with suppress(OSError):
        for (own, *_), files in _own_groups(*_tables()):
            events = own / ("memory.oom_control" if files == VERSION_1 else "memory.events.local")
            with suppress(OSError):
                return int(
                    dict(line.split() for line in events.read_text().splitlines()).get(
                        "oom_kill", 0
                    )
                )
    return 0


@contextmanager
def group(limit: int) -> Iterator[tuple[str, ...]]:
    """Yields the command that starts a process in a group of its own. We make it if we can, else
    systemd.
    """
    if sys.platform != "linux":
        raise NotMeasuredHere(
            f"a memory limit needs Linux control groups, and this is {sys.platform}"
        )
    reasons = []
    for parent, files in _places(*_tables()):
        for leftover in parent.glob(GROUP.format("*", "*")):  # of an owner that was killed
            if not psutil.pid_exists(int(leftover.name.split("-")[-2])):
                with suppress(OSError):
                    leftover.rmdir()
        folder = parent / GROUP.format(os.getpid(), secrets.token_hex(4))
        try:
            folder.mkdir()
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
            continue
        try:
            command = ("sh", "-c", ENTER, str(folder))
            if not (reason := _set_limits(folder, files, limit) or why_no_start(command)):
                yield command
                return
            reasons.append(f"{parent}: {reason}")
        finally:
            _remove(folder)
    # systemd-run(1): in a scope, it starts the command itself, and the user's manager makes the
    # group.
    manager = () if os.geteuid() == 0 else ("--user",)
    limits = ("-p", f"MemoryMax={limit}", "-p", "MemorySwapMax=0")
    command = ("systemd-run", *manager, "--scope", "--quiet", "--collect", *limits)
    if reason := (
        why_no_start(command) if shutil.which("systemd-run") else "there is no systemd-run(1)"
    ):
        refused = NotMeasuredHere(
            "no control group can be made here: that takes root, or a user's session of systemd"
        )
        refused.add_note("; ".join([*reasons, reason]))
        raise refused
    yield command


def _tables() -> tuple[str, ...]:
    """/proc/self/cgroup, cgroups(7), and /proc/self/mountinfo, proc_pid_mountinfo(5)."""
    return tuple(Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))


def _places(groups: str, mounts: str) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Where a group could be made, and the files that hold its limits.

    In version 1 the place is below our own group. In version 2, a group with processes can't have
    limited groups below it, so the place is beside our own group or further up: wherever "memory"
    is passed on to the groups below.
    """
    for folders, files in _own_groups(groups, mounts):
        if files == VERSION_1:
            yield folders[0], files
            continue
        for parent in folders:
            with suppress(OSError):
                if "memory" in (parent / "cgroup.subtree_control").read_text().split():
                    yield parent, files


def _own_groups(groups: str, mounts: str) -> Iterator[tuple[list[Path], tuple[str, str]]]:
    paths = {names: path for _, names, path in (line.split(":", 2) for line in groups.splitlines())}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup" and "memory" in options.split(","):
            path = next(
                (path for names, path in paths.items() if "memory" in names.split(",")), "/"
            )
            files = VERSION_1
        elif kind == "cgroup2":
            path = paths.get("", "/")
            files = VERSION_2
        else:
            continue
        # A container may have mounted only a part of the tree, from `root` down.
        own = (
            Path(mount, Path(path).relative_to(root))
            if Path(path).is_relative_to(root)
            else Path(mount)
        )
        yield [folder for folder in (own, *own.parents) if folder.is_relative_to(mount)], files


def _set_limits(folder: Path, files: tuple[str, str], limit: int) -> str | None:
    memory, swap = files
    # version 1 counts memory and swap as one
    values = {memory: limit, swap: 0 if swap == "memory.swap.max" else limit}
    try:
        for name, value in values.items():
            # a kernel without swap has no limit for it
            if name == memory or (folder / name).exists():
                (folder / name).write_text(str(value))
    except OSError as error:
        return str(error.strerror)
    return None


def _remove(folder: Path) -> None:
    """Removes the group once its last process has left: a killed process takes a moment to go."""
    until = time.monotonic() + 5
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
