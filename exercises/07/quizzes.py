"""Lesson 07: the quizzes' answers, found by measuring."""

import os
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from helpers.measure import measure
from helpers.teach.judging import CRASHED, on_a_file
from helpers.units import MiB


def kept_alive() -> int | None:
    """Which of `head`, `some`, `total` keeps the array alive when its own name is gone; 3 if none
    does.
    """
    whole = np.arange(4096.0)
    left = {"head": whole[:10], "some": whole[[0, 5]], "total": whole.sum()}
    seen = weakref.ref(whole)
    del whole
    for number, name in enumerate(list(left)):
        was_there = seen() is not None
        del left[name]
        if was_there and seen() is None:
            return number
    return 3


def grown() -> int | None:
    """1 if a lent bytearray can be written but not grown, and one that is not lent moves when it
    grows.
    """
    data = bytearray(100)
    at = np.frombuffer(data, np.uint8).ctypes.data
    view = memoryview(data)
    data[0] = 7
    if view[0] != 7:
        return None
    with suppress(BufferError):
        data.append(1)
        return None
    view.release()
    data += bytes(16 * MiB)
    return 1 if np.frombuffer(data, np.uint8).ctypes.data != at else None


@on_a_file
def cut(path: Path) -> int | None:
    """3 if reading through a Yoke ends the process with SIGBUS when the file is shorter by then."""

    def read_on(path):
        import os

        from helpers.ideas.carts import MappedFile
        from helpers.ideas.yoke import Yoke

        yoke = Yoke.attach(MappedFile(path), lambda view: view[-8:])
        os.truncate(path, 0)
        return bytes(yoke.get())

    if os.name != "posix":  # Windows does not let anybody cut a file that is mapped
        return None
    return 3 if measure(read_on, str(path)).ended in CRASHED else 2
