"""Ends all that a student has on this machine, as root: python3 leave.py NAME

First the log-in, so that nothing new begins; then the hub's server, tokens and user; jobs,
processes, sockets, shared memory and files; last the account with its home. Then it looks whether
anything is left. Only members of the group zero-copy can be made to leave. What you have collected
and graded lies elsewhere: `make forget` deletes that.
"""

import argparse
import grp
import os
import platform
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

TOKEN = Path(__file__).resolve().parent / "leave-token"  # of the hub, to which this is a service
NO_DISKS = {  # kinds of file systems in which the kernel shows something
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
}
QUEUES, SUBUID = Path("/dev/mqueue"), Path("/etc/subuid")
NOBODY = 2**32 - 3  # a user's number that no user has
KEYCTL = {"x86_64": 250, "aarch64": 219}  # the number of the system call
KEYCTL_CLEAR, KEYCTL_GET_PERSISTENT, PROCESS_KEYRING = 7, 22, -2
WAIT_S = 60
MOST_SAID, LONGEST = 20_000, 500  # bytes of names, and letters of one


def asked(hub: str, method: str, name: str) -> int:
    """The hub's answer about this user: 404 if there is none."""
    url = f"{hub}/hub/api/users/{quote(name, safe='')}"
    headers = {"Authorization": f"token {TOKEN.read_text().strip()}"}
    try:
        with urlopen(Request(url, headers=headers, method=method), timeout=WAIT_S) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def numbers_of(user: pwd.struct_passwd) -> list[range]:
    """Those of a user's processes and files: the own one, and those that newuidmap(1) lends, but
    not those that somebody else has, too. Prints these.
    """
    found, names = [range(user.pw_uid, user.pw_uid + 1)], (user.pw_name, str(user.pw_uid))
    rows = [row.split(":") for row in SUBUID.read_text().splitlines()] if SUBUID.exists() else []
    lent = [(owner, range(int(first), int(first) + int(count))) for owner, first, count in rows]
    others = [range(one.pw_uid, one.pw_uid + 1) for one in pwd.getpwall()]
    others += [some for owner, some in lent if owner not in names]
    for some in [some for owner, some in lent if owner in names]:
        if any(some.start < of.stop and of.start < some.stop for of in others):
            print(f"{SUBUID}: {some.start} to {some.stop - 1} are others', too, and stay")
        else:
            found.append(some)
    return found


def has(theirs: list[range], number: int | str) -> bool:
    return any(int(number) in some for some in theirs)


def processes(theirs: list[range]) -> dict[int, set[int]]:
    """Those that run under one of these numbers, or can do so again, and which."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            rows = dict(
                row.split(":\t", 1)
                for row in (process / "status").read_text().splitlines()
                if ":\t" in row
            )
            of = {int(number) for number in rows["Uid"].split() if has(theirs, number)}
            if of and not rows["State"].startswith("Z"):
                found[int(process.name)] = of
    return found


def files(theirs: list[range], what: str) -> list[str]:
    """With "-print", the first files of these numbers, as text that does nothing to a terminal:
    also a program in another's home, which could have the rights of the next user of that number.
    With "-delete", it deletes them all. The names of folders that lie deep in each other would fill
    the memory.
    """
    mounts = [row.split(b" ") for row in Path("/proc/self/mounts").read_bytes().splitlines()]
    escaped = [at for _, at, kind, *_ in mounts if kind.decode() not in NO_DISKS]
    disks = [at.decode("unicode_escape").encode("latin-1") for at in escaped]  # "\040" is a space
    owned = ["-false"]
    for some in theirs:
        owned += ["-o", "-uid", f"+{some.start - 1}", "-uid", f"-{some.stop}"]
    command = ["find", *disks, "-xdev", "-depth", "(", *owned, ")", what]
    # what it can't do is seen below
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as found:
        said = found.stdout.read(MOST_SAID).decode(errors="replace")
        found.kill()
    return [repr(name)[1:-1][:LONGEST] for name in said.split("\n") if name]


def shared_memory(theirs: list[range]) -> list[tuple[str, str]]:
    """The arguments of ipcrm for each object of System V of these numbers."""
    found = []
    for kind, option in (("shm", "-m"), ("sem", "-s"), ("msg", "-q")):
        head, *rows = (
            line.split() for line in Path("/proc/sysvipc", kind).read_text().splitlines()
        )
        owners = [head.index("uid"), head.index("cuid")]
        found += [(option, row[1]) for row in rows if any(has(theirs, row[n]) for n in owners)]
    return found


def kill_all(uid: int) -> None:
    """Ends all processes of a user at once: a look at /proc doesn't find those that fork all the
    time. They can neither stop nor trace the process that does it, whose real number isn't theirs,
    kill(2).
    """
    if pid := os.fork():
        os.waitpid(pid, 0)
        return
    try:
        os.setsid()
        os.setresuid(NOBODY, uid, NOBODY)
        os.kill(-1, signal.SIGKILL)
    finally:
        os._exit(0)


def clear_keys(uid: int) -> None:
    """The keys that stay for the next user of that number, persistent-keyring(7)."""
    if number := KEYCTL.get(platform.machine()):
        call = CDLL(None).syscall
        if (ring := call(number, KEYCTL_GET_PERSISTENT, uid, PROCESS_KEYRING)) > 0:
            call(number, KEYCTL_CLEAR, ring)


def left(user: pwd.struct_passwd, theirs: list[range], hub: str) -> Iterator[str]:
    """What is still there, in words."""
    with suppress(KeyError):
        yield f"the account {pwd.getpwnam(user.pw_name).pw_name}"
    yield from (f"process {pid}" for pid in processes(theirs))
    yield from files(theirs, "-print")
    yield from (f"ipcrm {option} {number}" for option, number in shared_memory(theirs))
    if os.path.lexists(user.pw_dir):
        yield user.pw_dir
    if (status := asked(hub, "GET", user.pw_name)) != 404:
        yield f"the hub's user ({status})"


def leave(user: pwd.struct_passwd, theirs: list[range], hub: str) -> None:
    name, uid = user.pw_name, user.pw_uid
    # no password, no job of cron's
    subprocess.run(["usermod", "--lock", "--expiredate", "1", name], check=True)
    until = time.monotonic() + WAIT_S
    # it ends the server first
    while asked(hub, "DELETE", name) != 404 and time.monotonic() < until:
        time.sleep(1)
    alive = {uid}
    while alive and time.monotonic() < until:
        for number in alive:
            kill_all(number)
        alive = set().union(*processes(theirs).values())
    clear_keys(uid)
    if not os.path.ismount(QUEUES):  # as without systemd: the queues are there all the same
        QUEUES.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "mqueue", "mqueue", QUEUES])
    files(theirs, "-delete")
    for one in shared_memory(theirs):
        subprocess.run(["ipcrm", *one])
    # what it can't do is seen below
    subprocess.run(["userdel", "--remove", name], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name")
    parser.add_argument("--group", default="zero-copy", help="which the student is in")
    parser.add_argument(
        "--hub", default="http://127.0.0.1:881", help="where the hub itself listens"
    )
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("Only root may end an account: sudo python3 leave.py NAME")
    try:
        user = pwd.getpwnam(chosen.name)
    except KeyError:
        sys.exit(f"No account is named {chosen.name}. Is that the right name?")
    numbers = os.getgrouplist(user.pw_name, user.pw_gid)
    if chosen.group not in [group.gr_name for group in grp.getgrall() if group.gr_gid in numbers]:
        sys.exit(f"{chosen.name} isn't in the group {chosen.group}. Is that the right name?")
    if not TOKEN.exists():
        sys.exit(
            f"There is no {TOKEN}. Run the leave.py that `install` has put beside its token, in "
            "the hub's folder."
        )
    try:
        asked(chosen.hub, "GET", chosen.name)
    except URLError as error:
        sys.exit(
            f"The hub doesn't answer at {chosen.hub} ({error.reason}). Start it first: it has to "
            "forget its tokens."
        )
    theirs = numbers_of(user)
    leave(user, theirs, chosen.hub)
    if rest := list(left(user, theirs, chosen.hub)):
        sys.exit("\n".join([f"Not all of {chosen.name} is gone. There is still:", *rest]))
    print(
        f"{chosen.name} has left: no account, home, process, token or file of theirs is on this "
        "machine."
    )
