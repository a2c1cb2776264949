"""Lesson 11: the answers of its quizzes, found by measuring."""

import os
from mmap import ACCESS_READ, mmap
from pathlib import Path

from helpers.measure import maps, measure
from helpers.teach.judging import kinds_are_told_apart, on_a_file
from helpers.units import KiB


@on_a_file
def renamed(path: Path) -> int | None:
    """2 if a mapping shows what is written over the file, and what it was when another file has
    taken the name.
    """
    if os.name != "posix":  # Windows doesn't let a mapped file be replaced
        return None

    def mapped() -> mmap:
        with path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)

    beside, old = path.with_name("beside"), path.read_bytes()[:9]
    beside.write_bytes(b"new model" * KiB)
    first = mapped()
    os.replace(beside, path)
    after_rename, second = first[:9], mapped()
    with path.open("r+b") as file:
        file.write(b"overwrote")
    return 2 if (after_rename, second[:9]) == (old, b"overwrote") else 0


@on_a_file
def asked(path: Path) -> int | None:
    """1 if another process, asked right after a rename, sees the new file, with nothing sent and
    nothing waited for.
    """
    if os.name != "posix":
        return None

    def inode(path):
        import os

        return os.stat(path).st_ino

    beside = path.with_name("beside")
    beside.write_bytes(b"new model")
    old, new = inode(path), inode(beside)
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ):
        os.replace(beside, path)
        found = measure(inode, str(path)).value
    return 1 if found == new != old else 2


@on_a_file
def kept(path: Path) -> int | None:
    """0 if a process that keeps ten old versions mapped has ten files without a name, and hardly
    more of its own.
    """
    if maps.why_not() or not kinds_are_told_apart():
        return None

    def ten_swaps(path):
        import mmap
        import os
        import time

        def read(mapping):
            return sum(mapping[:: mmap.PAGESIZE])

        versions = []
        for _ in range(10):
            with open(path, "rb") as file:
                versions.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            read(versions[-1])
            with open(f"{path}.new", "wb") as file:
                file.truncate(2**20)
            os.replace(f"{path}.new", path)
        time.sleep(0.1)  # so that a busy sampler sees them
        with open("/proc/self/maps") as lines:
            return len({line.split()[4] for line in lines if line.endswith(f"{path} (deleted)\n")})

    seen = measure(ten_swaps, str(path))
    return 0 if seen.value == 10 and seen.peak.anonymous < seen.peak.file / 4 else 2
