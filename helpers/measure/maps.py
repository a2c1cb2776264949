"""The mappings of a process: which addresses hold what. proc_pid_maps(5)."""

import ctypes
import errno
import mmap
import operator
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DELETED = " (deleted)"
SHARED_MEMORY = ("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage", "[anon_shmem:")
NAMED = {"": "anonymous", "[heap]": "heap", "[stack]": "stack"}


@dataclass(frozen=True)
class Region:
    """One line of /proc/<pid>/maps: the bytes from `start` up to `end`, which all belong to one mapping.

    permissions  four letters, "rw-p": read, write, execute, and p for private (writes are copied) or s for shared
    offset       bytes into the file at `path`, 0 where there is none
    path         as the kernel writes it, with " (deleted)" behind a name that is gone; "" for anonymous memory
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
        """ "file", "anonymous", "heap" (what brk(2) gave), "stack", "shared memory" or "kernel".

        A private mapping of shared memory is "shared memory" too: until they are written its pages are shared ones.
        A file on a tmpfs other than /dev/shm is a "file", though the kernel counts its pages as shared memory.
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
        """Are writes seen by everybody who maps the same (MAP_SHARED)?"""
        return self.permissions[3] == "s"


def regions(pid: int | str = "self") -> tuple[Region, ...]:
    """Every mapping of a process, from the lowest address up.

    ProcessLookupError if there is no such process (any more), PermissionError for one of another user.
    """
    with told(pid):
        text = Path(f"/proc/{pid}/maps").read_bytes().decode(errors="surrogateescape")
        if not text:  # it has ended, and nobody has waited for it yet; or it is a thread of the kernel's
            raise ProcessLookupError(errno.ESRCH, "no memory")
    return tuple(_region(line) for line in text.split("\n") if line)


def region_at(address: int, pid: int | str = "self") -> Region | None:
    """The mapping that holds this address; None where nothing is mapped. Errors as for `regions`."""
    return next((one for one in regions(pid) if one.start <= address < one.end), None)


def why_not() -> str:
    """Can pages be read here? "" if so, else the reason in words. Every instrument that reads pages asks this first."""
    if sys.platform != "linux":
        return f"page states are read from /proc/self/pagemap, Linux only, and this is {sys.platform}"
    witness = b"in memory, because it has just been written"
    address = ctypes.cast(witness, ctypes.c_void_p).value
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            entry = os.pread(file.fileno(), 8, address // mmap.PAGESIZE * 8)
    except OSError as error:
        return f"this system does not let a process read /proc/self/pagemap: {error.strerror}"
    # Some sandboxes have the file and tell nothing in it.
    return "" if len(entry) == 8 and entry[7] & 0x80 else "/proc/self/pagemap is there, and tells nothing"


@contextmanager
def told(pid: int | str) -> Iterator[None]:
    """Around a reading of /proc/<pid>: an error says which process it was, and what would be right."""
    try:
        right = pid == "self" or operator.index(pid) > 0
    except TypeError:
        right = False
    if not right:
        raise ValueError(f'{pid!r} is no process; write its number, or "self"')
    try:
        yield
    except (FileNotFoundError, ProcessLookupError) as error:
        error.__traceback__ = None  # on Python 3.12 and 3.13, contextlib's frame in it refers to the error: a cycle
        raise ProcessLookupError(error.errno, f"there is no process {pid}, or it has ended") from None
    except PermissionError as error:
        error.__traceback__ = None
        words = f"process {pid} belongs to somebody else: only your own processes can be read"
        raise PermissionError(error.errno, words) from None


def _region(line: str) -> Region:
    addresses, permissions, offset, device, inode, *path = line.split(maxsplit=5)
    start, end = (int(part, 16) for part in addresses.split("-"))
    # The kernel writes a newline in a name as \012, and nothing else so.
    name = path[0].replace("\\012", "\n") if path else ""
    return Region(start, end, permissions, int(offset, 16), device, int(inode), name)
