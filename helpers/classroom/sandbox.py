"""A sandbox for one student's function: bubblewrap, with nothing in it but Python and a folder to
work in. It has no network, no other processes, an empty home, and limits on processes, memory,
files and time. Everything but that folder is read-only. The judge stays outside, where the kernel
shows it the process by its outer pid, bwrap(1).
"""

import os
import shutil
import sys
import time
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import psutil

from ..folders import DATA, ROOT
from ..libc import libc
from ..measure.environment import why_no_start
from ..teach.judging import HID, Fence
from ..units import GiB, MiB, in_words
from .seccomp import filter_file, number_of

MAX_PROCESSES = 256  # and threads: more than any answer needs
MAX_FILES = 1_000  # in the working folder
MAX_DISK = 4 * GiB  # on the disk, for all files in the working folder
MAX_FILE_SIZE = 8 * GiB  # for one file: writing past this is an error
# in /dev/shm, and in /tmp, which is the home folder too: memory that no measurement sees
MEMORY_FILES = 16 * MiB
# file descriptors of a process, and of all that are on their way through sockets: these count for
# the user, unix(7), whose other programs may send theirs as long as they are fewer than 1,024
MAX_OPEN_FILES = 512
DISK_LEFT = 2 * GiB
MEMORY_LEFT = 1 * GiB  # for the teacher's machine, whatever happens
# by anything while a function works: deleted files, buffers, …
DISK_TAKEN = 8 * GiB
MEMORY_TAKEN = 4 * GiB
POLL_S = 0.05  # between two looks at the disk
SETTINGS = (  # name, the value that forbids user namespaces, a value that allows them
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
KEYCTL_JOIN_SESSION_KEYRING = 1
# `/` and `/dev`, which are in memory, become read-only. If memory runs out, the process is the
# first to be killed, choom(1), unless it has changed that. prlimit(1) runs inside, where it counts
# the sandbox's processes only, user_namespaces(7). Processor time has no limit: with one, the
# kernel counts it in ticks, and an answer's own timing would be as coarse.
LIMITS = (
    f"--nproc={MAX_PROCESSES}",
    f"--nofile={MAX_OPEN_FILES}",
    f"--fsize={MAX_FILE_SIZE}",
    "--core=0",
)
INSIDE = (
    "--remount-ro",
    "/",
    "--remount-ro",
    "/dev",
    "--",
    "choom",
    "-n1000",
    "--",
    "prlimit",
    *LIMITS,
    "--",
)
PASSED_ON = ("LANG", "LC_ALL", "TZ", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def fence(folder: Path) -> Fence:
    """A fence around a process that works in `folder`, which has the same path inside."""

    def command(*shared: Path) -> tuple[str, ...]:
        binds = [word for path in (folder, *shared) for word in ("--bind", str(path), str(path))]
        return (*_outside(), *binds, "--chdir", str(folder), *INSIDE)

    return Fence(command, _Stop(folder))


def unavailable_reason() -> str | None:
    """Tries to make a sandbox. Returns why that didn't work, and what would help; None if it
    worked.
    """
    if sys.platform != "linux":
        return (
            f"a sandbox needs Linux, and this is {sys.platform}; grade in a virtual machine with "
            "Linux"
        )
    if os.geteuid() == 0:
        return "no limit on processes holds for root; grade as an ordinary user"
    for tool, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
        if not shutil.which(tool):
            return (
                f"there is no {tool}; install the package {package} (`sudo apt install {package}`)"
            )
    reason = why_no_start((*_outside(), *INSIDE))
    return f"bwrap could not make a sandbox ({reason}). {_setting()}" if reason else None


def leave_keys() -> None:
    """Joins an empty session keyring, keyctl(2). No namespace hides the teacher's, which children
    would inherit.
    """
    number = number_of("keyctl")
    if sys.platform == "linux" and number:
        libc().syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None)


def _setting() -> str:
    """Names the setting that forbids user namespaces, if it's a known one."""
    for name, forbids, allows in SETTINGS:
        file = Path("/proc/sys", *name.split("."))
        if file.exists() and file.read_text().strip() == forbids:
            return (
                f"The setting {name}={forbids} forbids it; as root, `sysctl {name}={allows}` "
                "allows it"
            )
    options = "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
    allow = (
        f"must allow them, and a new /proc in them: docker run {options}, or procMount: Unmasked "
        "on Kubernetes"
    )
    return (
        "No setting of this kernel forbids user namespaces. If this is a container, whoever "
        f"starts it {allow}"
    )


@cache
def _outside() -> tuple[str, ...]:
    """bwrap, and the options of every sandbox. The process is the first in the sandbox, so all
    others end with it.
    """
    filtered = (
        ("sh", "-c", 'exec "$@" 9<"$0"', file, "bwrap", "--seccomp", "9")
        if (file := filter_file())
        else ("bwrap",)
    )
    options = [
        *(
            *filtered,
            "--unshare-user",
            "--unshare-all",
            "--disable-userns",
            "--cap-drop",
            "ALL",
            "--as-pid-1",
        ),
        *("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"),
        *("--proc", "/proc", "--dev", "/dev"),
    ]
    for path in ("/dev/shm", "/tmp"):
        options += ["--size", str(MEMORY_FILES), "--tmpfs", path]
    python = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    # without exercises, which have solutions
    project = (ROOT / "helpers", DATA / "samples", DATA / "recorded")
    for path in (
        "/usr",
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/etc/localtime",
        *python,
        *map(str, project),
    ):
        options += ["--ro-bind-try", path, path]
    for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):  # links into /usr, on most systems
        options += (
            ["--symlink", os.readlink(path), path]
            if os.path.islink(path)
            else ["--ro-bind-try", path, path]
        )
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": "/tmp",
        "USER": "student",
    }
    for name, value in environment.items():
        options += ["--setenv", name, value]
    return tuple(options)


class _Stop:
    """Says why to stop the process that works in a folder. OSError if this machine has no room
    left: nobody knows which answer took it, because two are judged at a time.
    """

    def __init__(self, folder: Path):
        self.folder, self.due = folder, 0.0
        self.disk = max(DISK_LEFT, shutil.disk_usage(folder).free - DISK_TAKEN)
        self.memory = max(MEMORY_LEFT, psutil.virtual_memory().available - MEMORY_TAKEN)

    def __call__(self) -> str | None:
        if time.monotonic() < self.due:
            return None
        try:
            files, size = _taken(self.folder)
        except OSError:  # a folder is unreadable, or too deep
            return HID
        if files > MAX_FILES or size > MAX_DISK:
            return "wrote too much"
        disk = shutil.disk_usage(self.folder).free
        memory = psutil.virtual_memory().available
        for free, least, full in (
            (disk, self.disk, "the disk filled up"),
            (memory, self.memory, "memory ran out"),
        ):
            if free < least:
                raise OSError(
                    f"{full} while the function worked: {in_words(free, 'bytes')} were left"
                )
        self.due = time.monotonic() + POLL_S
        return None


def _taken(folder: Path) -> tuple[int, int]:
    """How many files a folder has (it stops at too many), and their bytes on the disk. OSError if
    it can't list one.
    """
    files = 0
    size = 0
    left = [folder]
    while left and files <= MAX_FILES:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(left.pop()) as entries:
            for entry in islice(entries, MAX_FILES + 1 - files):
                files += 1
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry))
                with suppress(FileNotFoundError):  # deleted meanwhile
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
    return files, size
