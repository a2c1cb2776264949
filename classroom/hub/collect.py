"""Collects, as root, what the students of a class have handed in on this machine: python3
collect.py --lesson 02 FOLDER

For each member of the group zero-copy, the lesson's zips in ~/my_lessons/hand-in go to FOLDER/NAME,
each with the time at which it last changed, inode(7), which nobody can set. `make grade FROM=FOLDER
OUT=GRADES/02` grades them, and `python3 collect.py --give-back GRADES/02` puts each student's
feedback into ~/my_lessons/feedback/02.html. The home's owner says whose a zip is, not its name.
What was collected before stays, and is named if it isn't handed in any more.

Students may put anything there. So each home is read with its owner's rights alone: nothing that
they couldn't read themselves can come in by a link. Links, devices, files of others and files that
are too large are named and left out.
"""

import argparse
import grp
import os
import pwd
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

LARGEST = 10 << 20  # bytes of a zip; a lesson with its outputs has about one MiB
MOST, TOGETHER = 50, 50 << 20  # zips in a home, and their bytes
ZIP = re.compile(r"([0-9]{2})_[\w-]{1,60}\.zip")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe doesn't wait
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # and nobody else's is opened


def handed_in(home: str, owner: int, lesson: str = "") -> Iterator[tuple[str, bytes, int]]:
    """The name, bytes and time (ns) of each zip in a home, or of those of a lesson. Prints what
    isn't one.
    """
    folder = os.open(home, FOLDER)
    try:
        for part in ("my_lessons", "hand-in"):
            above, folder = folder, os.open(part, FOLDER, dir_fd=folder)
            os.close(above)
        named = [
            name
            for name in sorted(os.listdir(folder))
            if (zipped := ZIP.fullmatch(name)) and zipped[1].startswith(lesson)
        ]
        left = TOGETHER
        for name in named[:MOST]:
            try:
                data, when = own_file(name, folder, owner, min(LARGEST, left))
                left -= len(data)
                yield name, data, when
            except OSError as error:
                print(f"{home}: {name} left out: {error.strerror}")
        if len(named) > MOST:
            print(f"{home}: {named[MOST]} and all after it left out: more than {MOST}")
    finally:
        os.close(folder)


def own_file(name: str, folder: int, owner: int, largest: int) -> tuple[bytes, int]:
    """The bytes and time (ns) of a file of the owner's. OSError for anything else, and if it's
    larger.
    """
    with open(os.open(name, FILE, dir_fd=folder), "rb") as reader:
        found = os.fstat(reader.fileno())
        if found.st_uid != owner or found.st_nlink > 1 or not stat.S_ISREG(found.st_mode):
            raise OSError(0, "not a file of its own that belongs to the student")
        if len(data := reader.read(largest + 1)) > largest:
            raise OSError(
                0, f"larger than {LARGEST >> 20} MiB, or all together than {TOGETHER >> 20} MiB"
            )
        return data, found.st_ctime_ns


@contextmanager
def rights_of(user: pwd.struct_passwd) -> Iterator[None]:
    """Those of this user alone. Prints what was refused there, except that a folder doesn't
    exist.
    """
    os.setgroups([])
    os.setegid(user.pw_gid)
    os.seteuid(user.pw_uid)
    try:
        yield
    # the other comes of a folder whose rights change meanwhile
    except (OSError, RecursionError) as error:
        if not isinstance(error, FileNotFoundError):
            print(f"{user.pw_dir} left out: {error}")
    finally:
        os.seteuid(0)
        os.setegid(0)


def put(folder: Path, name: str, data: bytes) -> Path:
    """Writes this file whole, or not at all, into a folder where somebody else may make files at
    the same time.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    new, at = f".{secrets.token_hex()}", os.open(folder, FOLDER)
    try:
        with open(os.open(new, NEW, 0o600, dir_fd=at), "wb") as file:
            file.write(data)
        os.replace(new, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        with suppress(OSError):
            os.unlink(new, dir_fd=at)
        raise
    finally:
        os.close(at)
    return folder / name


def collect(user: pwd.struct_passwd, into: Path, lesson: str) -> int:
    """Copies what this user has handed in, and returns how many zips there are."""
    zips, own = [], into / user.pw_name
    with rights_of(user):
        zips += handed_in(user.pw_dir, user.pw_uid, lesson)
    for name, data, when in zips:
        os.utime(put(own, name, data), ns=(when, when))
    for name in sorted({path.name for path in own.glob("*.zip")} - {name for name, _, _ in zips}):
        print(f"{own / name} isn't handed in any more")
    return len(zips)


def opened_by_others(folder: Path, users: Iterable[pwd.struct_passwd]) -> str:
    """Who else may put files, or links, into this folder or take its place; "" if none of these
    users may. Whoever used sudo isn't somebody else.
    """
    others = [user for user in users if user.pw_uid != int(os.environ.get("SUDO_UID", 0))]
    students = {user.pw_uid: user.pw_name for user in others}
    groups = {of for user in others for of in os.getgrouplist(user.pw_name, user.pw_gid)}
    whole = folder.resolve()  # a link may lead there, and be a student's
    for place in (whole, *whole.parents, folder.absolute(), *folder.absolute().parents):
        found = place.lstat()
        if found.st_uid in students:
            return f"{place} belongs to {students[found.st_uid]}"
        # in a parent such as /tmp, nobody can rename what is another's
        own = place == whole or not found.st_mode & stat.S_ISVTX
        theirs = stat.S_IWOTH | (stat.S_IWGRP if found.st_gid in groups else 0)
        if own and found.st_mode & theirs and not stat.S_ISLNK(found.st_mode):
            return f"others may write into {place}"
    return ""


def members(group: str) -> Iterator[pwd.struct_passwd]:
    """The users in this group, by name. Prints what isn't as it should be."""
    found = grp.getgrnam(group)
    by_name = {user.pw_name: user for user in pwd.getpwall() if user.pw_gid == found.gr_gid}
    for name in sorted({*found.gr_mem, *by_name}):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            print(f"{name} is in the group {group}, but has no account")
            continue
        if os.path.exists(user.pw_dir) and os.stat(user.pw_dir).st_mode & 0o077:
            print(f"Others can look into {user.pw_dir}: chmod 700 {user.pw_dir}")
        yield user


def give_back(user: pwd.struct_passwd, graded: Path) -> int:
    """Puts the page that `make grade` wrote about this user into the home, and returns how many
    there are.
    """
    pages = list(graded.glob(f"feedback/*-{sha256(user.pw_name.encode()).hexdigest()[:8]}.html"))
    for data in [page.read_bytes() for page in pages]:
        with rights_of(user):
            put(Path(user.pw_dir, "my_lessons", "feedback"), f"{graded.name}.html", data)
    return len(pages)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        type=Path,
        help="for what is collected; or with --give-back, what `make grade` wrote",
    )
    parser.add_argument("--give-back", action="store_true", help="put the feedback into the homes")
    parser.add_argument("--lesson", default="", help="only this lesson's, such as 02")
    parser.add_argument("--group", default="zero-copy", help="whose homes")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("Only root may look into all homes: sudo python3 collect.py FOLDER")
    os.umask(0o077)
    # a name may have letters that the terminal lacks
    sys.stdout.reconfigure(errors="backslashreplace")
    chosen.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    everybody = [*members(chosen.group)]
    if why := opened_by_others(chosen.folder, everybody):
        sys.exit(f"{why}: use a folder that no student can write to")
    folder = chosen.folder.resolve()
    for member in everybody:
        count = (
            give_back(member, folder)
            if chosen.give_back
            else collect(member, folder, chosen.lesson and chosen.lesson.zfill(2))
        )
        print(f"{member.pw_name}: {count}")
