"""Which system calls a student's answer may not make: those that reach what no namespace keeps
apart. As a filter for `bwrap --seccomp`, seccomp(2): a program for the kernel's classic BPF, whose
instructions are (code, to skip if true, to skip if false, number).
"""

import os
import platform
import struct
from functools import cache

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | 1
KILL = 0x80000000  # refused calls end in EPERM
# where the call's number and its arguments are, in struct seccomp_data
NUMBER, MACHINE, FIRST, SECOND = (0, 4, 16, 24)
X32 = 0x40000000  # from here on, numbers of another set of calls
F_SETLEASE, F_NOTIFY = 1024, 1026  # make whoever opens the file wait, or send signals
FAMILIES = (1, 2, 10, 16)  # of sockets: Unix, IPv4, IPv6 and netlink are the sandbox's own
# Keys are the user's, and outlive the sandbox. What System V, io_uring and the like hold, no meter
# sees.
REFUSED = (
    "add_key",
    "request_key",
    "keyctl",
    "shmget",
    "shmat",
    "semget",
    "msgget",
    "mq_open",
    "memfd_secret",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "userfaultfd",
    "fanotify_init",
    "bpf",
    "perf_event_open",
    "name_to_handle_at",
    "open_by_handle_at",
)
# of these calls, of fcntl and of socket: arch/x86/entry/syscalls/syscall_64.tbl,
# asm-generic/unistd.h
NUMBERS = {
    "x86_64": (
        248,
        249,
        250,
        29,
        30,
        64,
        68,
        240,
        447,
        425,
        426,
        427,
        323,
        300,
        321,
        298,
        303,
        304,
        72,
        41,
    ),
    "aarch64": (
        217,
        218,
        219,
        194,
        196,
        190,
        186,
        180,
        447,
        425,
        426,
        427,
        282,
        262,
        280,
        241,
        264,
        265,
        25,
        198,
    ),
}
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h

Instruction = tuple[int, int, int, int]


def number_of(call: str) -> int | None:
    """The number that a refused call has here; None on a machine of another kind."""
    return dict(zip(REFUSED, NUMBERS.get(platform.machine(), ()), strict=False)).get(call)


def program(machine: str) -> list[Instruction]:
    """The filter for a machine of NUMBERS."""
    *refused, fcntl, socket = NUMBERS[machine]
    return [
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, MACHINES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, REFUSE),
        *(step for number in refused for step in ((EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE))),
        *_only(fcntl, SECOND, (F_SETLEASE, F_NOTIFY), REFUSE, ALLOW),
        *_only(socket, FIRST, FAMILIES, ALLOW, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]


def _only(
    call: int, argument: int, values: tuple[int, ...], then: int, otherwise: int
) -> list[Instruction]:
    """What comes of a call, by the value of one of its arguments."""
    tests = [step for value in values for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, then))]
    steps = [(LOAD, 0, 0, argument), *tests, (RETURN, 0, 0, otherwise)]
    return [(EQUAL, 0, len(steps), call), *steps]


@cache
def filter_file() -> str | None:
    """A path under which children of this process can read the filter; None for a machine that has
    none here.
    """
    machine = platform.machine()
    if machine not in NUMBERS:
        return None
    file = os.memfd_create("seccomp")
    os.write(file, b"".join(struct.pack("<HBBI", *step) for step in program(machine)))
    return f"/proc/{os.getpid()}/fd/{file}"
