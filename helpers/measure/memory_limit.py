"""`in_memory_limit`: measure a function in a control group of its own, which limits memory as a container's does."""

import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from ..units import MiB, in_words
from ..units import size as in_bytes
from .machine import NotMeasuredHere
from .recording import Recording
from .run import How, measured, why_no_start

LEAST = 40 * MiB  # a fresh interpreter was charged 16 MiB with numpy in it, 24 with this package, 52 with pandas
VERSION_1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
VERSION_2 = ("memory.max", "memory.swap.max")
GROUP = "zero-copy-{}-{}"  # the pid of its owner, and a random number
ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'  # sh(1) moves itself, then becomes the interpreter


def in_memory_limit(function: Callable, *args: Any, limit: int | str = "64 MiB") -> Recording:
    """`measure(function, *args)` in a process whose memory is limited as a container's is: to bytes, or "64 MiB".

    The kernel keeps the limit, by a memory control group (cgroup) made for this process and removed when it has ended.
    The group is charged for all that the process brings in: anonymous memory, and pages of files that it reads or maps.
    At the limit the kernel takes file-backed pages back, and the process goes on. If there's nothing to take back (the
    group has no swap), the kernel kills the process: `ended == "SIGKILL"`.

    A page of a file is charged to the group that brought it in, and stays charged there. Pages that are already in the
    page cache, because another process read or wrote them, cost this process nothing: `drop_from_cache(path)` first.

    Linux Documentation: admin-guide/cgroup-v2.rst (memory.max, memory.swap.max), admin-guide/cgroup-v1/memory.rst.
    The interpreter and its imports count too. ValueError for a limit below 40 MiB, too little for them alone, or above
    the machine's memory. TypeError if the function can't be loaded because what it imports doesn't fit.
    NotMeasuredHere where this user can't make a control group: not Linux, most containers.
    """
    length = in_bytes(limit)
    if length < LEAST:
        least = in_words(LEAST, "bytes")
        raise ValueError(f"{in_words(length, 'bytes')} is too little for a fresh interpreter; use {least} or more")
    if length > (memory := psutil.virtual_memory().total):
        most = in_words(memory, "bytes")
        raise ValueError(f"a limit of {in_words(length, 'bytes')} is more than this machine's memory of {most}")
    with _group(length) as command:
        return measured(function, args, How(command=command))


@contextmanager
def _group(limit: int) -> Iterator[tuple[str, ...]]:
    """Yields the command that starts a process in a group of its own. We make it if we can, else systemd."""
    if sys.platform != "linux":
        raise NotMeasuredHere(f"a memory limit needs Linux control groups, and this is {sys.platform}")
    refused = []
    for parent, files in _places(*(Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))):
        for left in parent.glob(GROUP.format("*", "*")):  # empty folders, left by processes that were killed
            if not psutil.pid_exists(int(left.name.split("-")[-2])):
                with suppress(OSError):
                    left.rmdir()
        folder = parent / GROUP.format(os.getpid(), secrets.token_hex(4))
        try:
            folder.mkdir()
        except OSError as error:
            refused.append(f"{parent}: {error.strerror}")
            continue
        try:
            command = ("sh", "-c", ENTER, str(folder))
            if why := _set(folder, files, limit) or why_no_start(command):
                refused.append(f"{parent}: {why}")
                continue
            yield command
            return
        finally:
            _remove(folder)
    command = _by_systemd(limit)
    if why := _by_systemd_not():
        raise NotMeasuredHere(f"no control group can be made here: {'; '.join([*refused, why])}")
    yield command


def _places(groups: str, mounts: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Where a group could be made, and the files that hold its limits: memory first, then swap.

    `groups` and `mounts` are /proc/self/cgroup, cgroups(7), and /proc/self/mountinfo, proc_pid_mountinfo(5). In version
    1 the place is below our own group. In version 2, a group with processes can't have limited groups below it, so the
    place is beside our own group or further up: wherever "memory" is passed on to the groups below.
    """
    for ours, point, files in _own(groups, mounts):
        if files == VERSION_1:
            yield ours, files
            continue
        for parent in _up(ours, point):
            with suppress(OSError):
                if "memory" in (parent / "cgroup.subtree_control").read_text().split():
                    yield parent, files


def own_limit() -> int | None:
    """Bytes that this process may use, as a container limits them: the lowest limit of its control group and the groups
    above it. None if nothing limits it, or the limits can't be read."""
    limits = [psutil.virtual_memory().total]
    with suppress(OSError):
        tables = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
        for ours, point, (memory, _) in _own(*tables):
            for group in _up(ours, point):
                with suppress(OSError, ValueError):  # the top group has no such file; the limit may be "max"
                    limits.append(int((group / memory).read_text()))
    return min(limits) if min(limits) < limits[0] else None


def _own(groups: str, mounts: str) -> Iterator[tuple[Path, Path, tuple[str, str]]]:
    """This process's control groups that could limit memory, each with its mount point and its files."""
    own = {names: path for _, names, path in (line.split(":", 2) for line in groups.splitlines())}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup" and "memory" in options.split(","):
            path = next((path for names, path in own.items() if "memory" in names.split(",")), "/")
            yield _below(point, root, path), Path(point), VERSION_1
        elif kind == "cgroup2":
            yield _below(point, root, own.get("", "/")), Path(point), VERSION_2


def _up(group: Path, top: Path) -> Iterator[Path]:
    for folder in (group, *group.parents):
        yield folder
        if folder == top:
            break


def _below(point: str, root: str, path: str) -> Path:
    """A group's folder. A container may have mounted only a part of the tree, from `root` down."""
    inside = path == root or path.startswith(root.rstrip("/") + "/")
    return Path(point) / (path[len(root.rstrip("/")) :].lstrip("/") if inside else "")


def _set(folder: Path, files: tuple[str, ...], limit: int) -> str:
    """Writes the limits. Returns why that was refused; "" if it wasn't."""
    memory, swap = files
    values = {memory: limit, swap: 0 if swap == "memory.swap.max" else limit}  # version 1 counts memory and swap as one
    try:
        for name, value in values.items():
            if name == memory or (folder / name).exists():  # a kernel without swap has no limit for it
                (folder / name).write_text(str(value))
    except OSError as error:
        return f"{error.strerror}"
    return ""


def _remove(folder: Path) -> None:
    """Removes the group once its last process has left: a killed process takes a moment to go."""
    until = time.monotonic() + 5
    while True:
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _by_systemd(limit: int) -> tuple[str, ...]:
    """systemd-run(1): in a scope, it starts the command itself, and the user's manager makes the group."""
    whose = () if os.geteuid() == 0 else ("--user",)
    limits = ("-p", f"MemoryMax={limit}", "-p", "MemorySwapMax=0")
    return ("systemd-run", *whose, "--scope", "--quiet", "--collect", *limits)


@cache
def _by_systemd_not() -> str:
    """Why systemd-run(1) doesn't work, in its own words, found by trying; "" if it works."""
    return why_no_start(_by_systemd(LEAST)) if shutil.which("systemd-run") else "there is no systemd-run(1)"
