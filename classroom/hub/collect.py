"""Collects, as root, what the students of a class have handed in on this machine: python3 collect.py FOLDER

For each member of the group zero-copy, the zips in ~/my_lessons/hand-in go to FOLDER/NAME, each with the time at which
it was written. `make grade FROM=FOLDER` grades them. The home's owner says whose a zip is, and not its name.

Students may put anything there. So each home is read with its owner's rights alone: nothing that they couldn't read
themselves can come in by a link. Links, devices, files of others and files larger than LARGEST are named and left out.
"""

import grp
import os
import pwd
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

GROUP = "zero-copy"
LARGEST = 10 << 20  # bytes of a zip; a lesson with its outputs has about one MiB
MOST = 50  # zips in a home
ZIP = re.compile(r"[0-9]{2}_[\w-]{1,60}\.zip")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe doesn't wait


def handed_in(home: str, owner: int) -> Iterator[tuple[str, bytes, int]]:
    """The name, bytes and time (ns) of each zip in a home. Prints what isn't one."""
    folder = os.open(home, FOLDER)
    try:
        for part in ("my_lessons", "hand-in"):
            above, folder = folder, os.open(part, FOLDER, dir_fd=folder)
            os.close(above)
        for name in sorted(filter(ZIP.fullmatch, os.listdir(folder)))[:MOST]:
            try:
                file = os.open(name, FILE, dir_fd=folder)
            except OSError as error:
                print(f"{home}: {name} left out: {error.strerror}")
                continue
            with open(file, "rb") as reader:
                found = os.fstat(file)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or found.st_nlink > 1:
                    print(f"{home}: {name} left out: not a file of its own that belongs to the student")
                elif found.st_size > LARGEST or len(data := reader.read(LARGEST + 1)) > LARGEST:
                    print(f"{home}: {name} left out: larger than {LARGEST >> 20} MiB")
                else:
                    yield name, data, found.st_mtime_ns
    finally:
        os.close(folder)


def collect(user: pwd.struct_passwd, into: Path) -> int:
    """Copies what this user has handed in, and returns how many zips there are."""
    os.setgroups([])
    os.setegid(user.pw_gid)
    os.seteuid(user.pw_uid)
    try:
        zips = list(handed_in(user.pw_dir, user.pw_uid))
    except OSError as error:
        zips = []
        if not isinstance(error, FileNotFoundError):
            print(f"{user.pw_dir} left out: {error.strerror}")
    finally:
        os.seteuid(0)
        os.setegid(0)
    for name, data, when in zips:
        folder = into / user.pw_name
        folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        os.utime(file.name, ns=(when, when))
        os.replace(file.name, folder / name)
    return len(zips)


if __name__ == "__main__":
    if len(sys.argv) != 2 or os.geteuid() != 0:
        sys.exit("As root: python3 collect.py FOLDER")
    into = Path(sys.argv[1])
    into.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in sorted(grp.getgrnam(GROUP).gr_mem):
        count = collect(pwd.getpwnam(name), into)
        print(f"{name}: {count}")
