"""A server whose memory is looked at: `python server.py kind path begin end`, and a line on its
input for each step.
"""

import mmap
import sys


def held(kind: str, path: str, begin: int, end: int) -> bytes | mmap.mmap:
    """Its model after two answers, which took the bytes from `begin` to `end`."""
    with open(path, "rb") as file:
        model = (
            file.read() if kind == "reads" else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        )
    for _ in "12":
        sum(model[at] for at in range(begin, end, mmap.PAGESIZE))
    if kind == "loses":
        # MADV_PAGEOUT, madvise(2)
        model.madvise(21, 0, end * 5 // 8 // mmap.PAGESIZE * mmap.PAGESIZE)
    return model


if __name__ == "__main__":
    kind, path, begin, end = sys.argv[1:]
    input()
    print("ready", flush=True)
    input()
    model = held(kind, path, int(begin), int(end))
    print("answered", flush=True)
    sys.stdin.read()
