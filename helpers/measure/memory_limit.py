"""`in_memory_limit`: measure a function where memory is limited as a container's is, by a control group of its own."""

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
GROUP = "zero-copy-{}-{}"  # whose, and which
ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'  # sh(1) moves itself, and then becomes the interpreter


def in_memory_limit(function: Callable, *args: Any, limit: int | str = "64 MiB") -> Recording:
    """`measure(function, *args)`, in a process whose memory is limited to bytes or "64 MiB", as a container's is.

    The limit is the kernel's, a memory control group (cgroup) made for this one process and removed when it has ended.
    All that the process brings in is charged to it: anonymous memory, and the pages of files that it reads or maps.
    At the limit the kernel takes file-backed pages back, and the process goes on; where there is nothing to take back
    (there is no swap in the group) it kills the process: `ended == "SIGKILL"`.

    A page of a file is charged to the group that brought it in, and stays charged there. What the page cache holds
    already, because somebody else has read or written it, costs this process nothing: `drop_from_cache(path)` first.

    Linux Documentation: admin-guide/cgroup-v2.rst (memory.max, memory.swap.max), admin-guide/cgroup-v1/memory.rst.
    The interpreter and its imports count too. ValueError for a limit below 40 MiB, too little for them alone, or above
    the machine's memory. TypeError if what the function imports does not fit in, so that it cannot be loaded.
    NotMeasuredHere where this user may make no control group: other systems than Linux, most containers.
    """
    length = in_bytes(limit)
    if length < LEAST:
        least = in_words(LEAST, "bytes")
        raise ValueError(f"{in_words(length, 'bytes')} are too little for a fresh interpreter; use {least} or more")
    if length > (memory := psutil.virtual_memory().total):
        of = in_words(length, "bytes")
        raise ValueError(f"a limit of {of} is more than this machine's memory of {in_words(memory, 'bytes')}")
    with _group(length) as command:
        return measured(function, args, How(command=command))


@contextmanager
def _group(limit: int) -> Iterator[tuple[str, ...]]:
    """The command that starts a process in a group of its own. First our own hands are tried, then systemd's."""
    if sys.platform != "linux":
        raise NotMeasuredHere(f"a memory limit takes control groups of Linux, and this is {sys.platform}")
    refused = []
    for parent, files in _places(*(Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))):
        for left in parent.glob(GROUP.format("*", "*")):  # by somebody who was killed: an empty folder
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
    1 it is below our own group. In version 2 a group that has processes can have none with limits below it, so it is
    beside our own or further up: wherever "memory" is given on to the groups below.
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
    """Bytes that this process may use, as a container limits them: the least limit of its control group and of those
    above it. None where nothing limits it, or where that cannot be read."""
    limits = [psutil.virtual_memory().total]
    with suppress(OSError):
        tables = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
        for ours, point, (memory, _) in _own(*tables):
            for group in _up(ours, point):
                with suppress(OSError, ValueError):  # the group at the top has no such file; "max"
                    limits.append(int((group / memory).read_text()))
    return min(limits) if min(limits) < limits[0] else None


def _own(groups: str, mounts: str) -> Iterator[tuple[Path, Path, tuple[str, str]]]:
    """The control groups of this process that could limit memory: each with its mount point and its files."""
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
    """A group's folder. A container may have mounted a part of the tree, from `root` down."""
    inside = path == root or path.startswith(root.rstrip("/") + "/")
    return Path(point) / (path[len(root.rstrip("/")) :].lstrip("/") if inside else "")


def _set(folder: Path, files: tuple[str, ...], limit: int) -> str:
    """Writes the limits; why that was refused, "" if it was not."""
    memory, swap = files
    values = {memory: limit, swap: 0 if swap == "memory.swap.max" else limit}  # version 1 counts memory and swap as one
    try:
        for name, value in values.items():
            if name == memory or (folder / name).exists():  # a kernel without swap has no limit of it
                (folder / name).write_text(str(value))
    except OSError as error:
        return f"{error.strerror}"
    return ""


def _remove(folder: Path) -> None:
    """The group, once the last process has left it: a killed one takes a moment to go."""
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
    """systemd-run(1): in a scope the command is started by itself, and the user's manager makes the group."""
    whose = () if os.geteuid() == 0 else ("--user",)
    limits = ("-p", f"MemoryMax={limit}", "-p", "MemorySwapMax=0")
    return ("systemd-run", *whose, "--scope", "--quiet", "--collect", *limits)


@cache
def _by_systemd_not() -> str:
    """Found by trying, with the reason that systemd-run(1) gives; "" where it works."""
    return why_no_start(_by_systemd(LEAST)) if shutil.which("systemd-run") else "there is no systemd-run(1)"
