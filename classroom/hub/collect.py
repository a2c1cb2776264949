"""Collects, as root, what the students of a class have handed in on this machine: python3 collect.py FOLDER

For each member of the group zero-copy, the zips in ~/my_lessons/hand-in go to FOLDER/NAME, each with the time at which
it was written. `make grade FROM=FOLDER OUT=GRADES/02` grades them, and `python3 collect.py --give-back GRADES/02` puts
each student's feedback into ~/my_lessons/feedback/02.html. The home's owner says whose a zip is, and not its name.

Students may put anything there. So each home is read with its owner's rights alone: nothing that they couldn't read
themselves can come in by a link. Links, devices, files of others and files larger than LARGEST are named and left out.
"""

import argparse
import grp
import os
import pwd
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

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


@contextmanager
def rights_of(user: pwd.struct_passwd) -> Iterator[None]:
    """Those of this user alone. Prints what was refused there, except that a folder doesn't exist."""
    os.setgroups([])
    os.setegid(user.pw_gid)
    os.seteuid(user.pw_uid)
    try:
        yield
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            print(f"{user.pw_dir} left out: {error.strerror}")
    finally:
        os.seteuid(0)
        os.setegid(0)


def put(folder: Path, name: str, data: bytes) -> Path:
    """Writes this file whole, or not at all."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        (new := Path(beside, name)).write_bytes(data)
        return new.replace(folder / name)


def collect(user: pwd.struct_passwd, into: Path) -> int:
    """Copies what this user has handed in, and returns how many zips there are."""
    zips = []
    with rights_of(user):
        zips += handed_in(user.pw_dir, user.pw_uid)
    for name, data, when in zips:
        os.utime(put(into / user.pw_name, name, data), ns=(when, when))
    return len(zips)


def give_back(user: pwd.struct_passwd, graded: Path) -> int:
    """Puts the page that `make grade` wrote about this user into the home, and returns how many there are."""
    pages = list(graded.glob(f"feedback/*-{sha256(user.pw_name.encode()).hexdigest()[:8]}.html"))
    for data in [page.read_bytes() for page in pages]:
        with rights_of(user):
            put(Path(user.pw_dir, "my_lessons", "feedback"), f"{graded.name}.html", data)
    return len(pages)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for what is collected; or with --give-back, what `make grade` wrote")
    parser.add_argument("--give-back", action="store_true", help="put the feedback into the homes")
    parser.add_argument("--group", default="zero-copy", help="whose homes")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("Only root may look into all homes: sudo python3 collect.py FOLDER")
    os.umask(0o077)
    chosen.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for member in sorted(grp.getgrnam(chosen.group).gr_mem):
        count = (give_back if chosen.give_back else collect)(pwd.getpwnam(member), chosen.folder.resolve())
        print(f"{member}: {count}")
