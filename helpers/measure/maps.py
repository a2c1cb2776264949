"""The mappings of a process: which addresses hold what, and its descriptors. proc_pid_maps(5),
proc_pid_fd(5).
"""

import ctypes
import errno
import mmap
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..units import MiB
from .jsonable import fields

DELETED = " (deleted)"
SHARED_MEMORY = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage", "[anon_shmem:")
LONGEST = 64 * MiB  # of maps or smaps: 65,530 mappings, the kernel's limit, with short names
MOST_DESCRIPTORS = 4096  # that are tried where /proc doesn't list them
# a line of maps, between the lines of smaps
HEAD = re.compile(r"^([0-9a-f]+-[0-9a-f]+ .*)\n", re.MULTILINE)
Pid = int | str  # a process's number, or "self"
NAMED = {"": "anonymous", "[heap]": "heap", "[stack]": "stack"}


@dataclass(frozen=True)
class Region:
    """A line of /proc/<pid>/maps: the bytes from `start` up to `end`, which all belong to one
    mapping.

    permissions  four letters, "rw-p": read, write, execute, and p for private (writes are copied)
                 or s for shared
    offset       bytes into the file at `path`, 0 if there is no file
    path         as the kernel writes it, with " (deleted)" after a name that is gone; "" for
                 anonymous memory
    """

    start: int
    end: int
    permissions: str
    offset: int
    device: str
    inode: int
    path: str

    @property
    def kind(self) -> str:
        """ "file", "anonymous", "heap" (what brk(2) gave), "stack", "shared memory" (private
        mappings of it too) or "kernel". A file on a tmpfs other than /dev/shm is a "file", though
        the kernel counts it as shared memory.
        """
        if self.path.startswith(("/dev/zero", "/anon_hugepage")) and not self.shared:
            return "anonymous"
        if self.path.startswith(SHARED_MEMORY):
            return "shared memory"
        if self.path.startswith("/"):
            return "file"
        return NAMED.get(self.path, "anonymous" if self.path.startswith("[anon:") else "kernel")

    @property
    def deleted(self) -> bool:
        """Has the file been deleted? Its bytes stay until the last mapping goes."""
        return self.kind == "file" and self.path.endswith(DELETED)

    @property
    def shared(self) -> bool:
        """Does everybody who maps the same bytes see what is written (MAP_SHARED)?"""
        return self.permissions[3] == "s"


def regions(pid: Pid = "self") -> tuple[Region, ...]:
    """Every mapping of a process, from the lowest address up.

    ProcessLookupError if there is no such process (any more), PermissionError for another user's
    process.
    """
    return tuple(_region(line) for line in _read(pid, "maps").split("\n") if line)


def files_in_memory(folder: Path, pid: Pid = "self") -> tuple[tuple[Region, dict[str, int]], ...]:
    """The mappings of files in a folder, deleted ones too, and what of each is in memory: {"Rss":
    bytes, "Pss": …}.

    proc_pid_smaps(5). The kernel walks all pages of the process for that. Errors as for `regions`.
    """
    _, *pieces = HEAD.split(_read(pid, "smaps"))
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return tuple((_region(head), fields(body)) for head, body in pairs if f" {folder}/" in head)


def mappings_of(path: str | os.PathLike, pid: Pid = "self") -> list[Region]:
    """The mappings of a file, under any of its names, or of a deleted file of this name. Errors as
    for `regions`.
    """
    target = os.path.realpath(path)
    same = None
    with suppress(OSError):
        status = os.stat(path)
        same = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}", status.st_ino
    names = (target, target + DELETED)
    return [
        region
        for region in regions(pid)
        if region.path in names or (region.device, region.inode) == same
    ]


def descriptors_of(path: str | os.PathLike, pid: Pid = "self") -> dict[int, bool]:
    """A process's descriptors of the file, or of a deleted file of this name: is it deleted?"""
    folder = f"/proc/{pid}/fd" if os.path.isdir("/proc/self/fd") else None
    found = {}
    same = None
    deleted = os.path.realpath(path) + DELETED
    with suppress(OSError):
        same = os.stat(path)
    for number in map(int, os.listdir(folder)) if folder else range(MOST_DESCRIPTORS):
        with suppress(OSError):  # closed meanwhile
            status = os.stat(f"{folder}/{number}") if folder else os.fstat(number)
            gone = bool(folder) and os.readlink(f"{folder}/{number}") == deleted
            if gone or (same and os.path.samestat(status, same)):
                found[number] = gone
    return found


def file_at(address: int) -> str | None:
    """The path that the file mapped there has, or had; None if there is none, or without /proc."""
    with suppress(ProcessLookupError, StopIteration):
        region = next(region for region in regions() if region.start <= address < region.end)
        return region.path.removesuffix(DELETED) if region.kind == "file" else None
    return None


def processes_that_map(
    path: str | os.PathLike, holds: Callable = mappings_of
) -> tuple[dict[int, str], int]:
    """Their names by number, and how many processes this user may not look into. `holds(path,
    pid)`: does it count?
    """
    names, hidden = {}, 0
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if holds(path, pid):
                names[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
        except PermissionError:
            hidden += 1
        except OSError:  # it has ended, or is a kernel thread
            continue
    return names, hidden


def why_not() -> str | None:
    """Why pages can't be read here; None if they can. Every instrument that reads pages calls this
    first.
    """
    if sys.platform != "linux":
        return (
            "page states come from /proc/self/pagemap, which only Linux has, and this is "
            f"{sys.platform}"
        )
    witness = b"in memory, because it has just been written"
    address = ctypes.cast(witness, ctypes.c_void_p).value
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            entry = os.pread(file.fileno(), 8, address // mmap.PAGESIZE * 8)
    except OSError as error:
        return f"this system does not let a process read /proc/self/pagemap: {error.strerror}"
    # Some sandboxes have the file, but it tells nothing.
    return (
        None
        if len(entry) == 8 and entry[7] & 0x80
        else "/proc/self/pagemap is there, but tells nothing"
    )


@contextmanager
def translate_proc_errors(pid: Pid) -> Iterator[None]:
    """Goes around a reading of /proc/<pid>: its errors say which process it was, and what would be
    right.
    """
    if pid != "self" and not (isinstance(pid, (int, np.integer)) and pid > 0):
        raise ValueError(f'{pid!r} is not a process; write its number, or "self"')
    try:
        yield
    except (FileNotFoundError, ProcessLookupError) as error:
        error.__traceback__ = (
            None  # on Python 3.12 and 3.13, contextlib's frame in it refers to the error: a cycle
        )
        raise ProcessLookupError(
            error.errno, f"there is no process {pid}, or it has ended"
        ) from None
    except PermissionError as error:
        error.__traceback__ = None
        message = f"process {pid} belongs to another user: you can read only your own processes"
        raise PermissionError(error.errno, message) from None


def _read(pid: Pid, name: str) -> str:
    with translate_proc_errors(pid):
        data = bytearray()
        with open(f"/proc/{pid}/{name}", "rb") as file:
            while part := file.read(MiB):
                data += part
                if len(data) > LONGEST:
                    raise OSError(
                        errno.EAGAIN, "too many mappings of files with long names", file.name
                    )
        text = data.decode(errors="surrogateescape")
        if not text:  # it has ended, and nobody has waited for it yet; or it is a kernel thread
            raise ProcessLookupError(errno.ESRCH, "no memory")
    return text


def _region(line: str) -> Region:
    addresses, permissions, offset, device, inode, *path = line.split(maxsplit=5)
    start, end = (int(part, 16) for part in addresses.split("-"))
    # In a name the kernel escapes only the newline, as \012.
    name = path[0].replace("\\012", "\n") if path else ""
    return Region(start, end, permissions, int(offset, 16), device, int(inode), name)
