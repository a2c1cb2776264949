"""What lesson 02's quizzes ask, measured: each function finds the number of the right choice."""

import os
from pathlib import Path

from helpers.measure import measure
from helpers.teach.judging import on_a_file
from helpers.units import MiB


@on_a_file
def counted(path: Path) -> int | None:
    """1 if the heap counter sees a buffer and not the mapping beside it, whose pages are
    file-backed.
    """

    def map_and_count(path):
        import mmap
        import time

        buffer = bytearray(2**20)
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
        ):
            touched = sum(mapping[at] for at in range(0, len(mapping), 4096))
            time.sleep(0.05)  # so that the last pages are seen from outside
            return touched + len(buffer)

    run = measure(map_and_count, path, heap=True)
    if run.peak.file is None or run.heap_peak is None:
        return None
    seen, size = MiB <= run.heap_peak < 2 * MiB, path.stat().st_size
    return 1 if seen and run.peak.file > 0.9 * size and run.peak.anonymous < 0.2 * size else 0


@on_a_file
def hopped(path: Path) -> int | None:
    """2 if the same reads of 64 KiB make a wait for every chunk only where each of them hops to
    another thread.
    """

    def here(path):
        with open(path, "rb", buffering=0) as file:
            while file.read(65536):
                pass

    def in_a_pool(path):
        import asyncio

        async def chunks():
            with open(path, "rb", buffering=0) as file:
                while await asyncio.to_thread(file.read, 65536):
                    pass

        asyncio.run(chunks())

    stay, hop = measure(here, path), measure(in_a_pool, path)
    chunks = path.stat().st_size / 65536
    if hop.switches.voluntary is None:
        return None
    return 2 if hop.switches.voluntary > chunks / 2 > 2 * stay.switches.voluntary else 0


@on_a_file
def dirty(path: Path) -> int | None:
    """3 if a mapped source's pages are clean, and those of a file just written are dirty until they
    are synced.
    """

    def kinds(path):
        import mmap
        import os
        import re

        def written_only(path):
            with (
                open(path, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
            ):
                before = _dirty(re, open)
                for at in range(0, len(mapping), 4096):
                    mapping[at]
                return (_dirty(re, open) - before) / len(mapping)

        def _dirty(re, open):
            with open("/proc/self/smaps_rollup") as file:
                return sum(
                    int(n) * 1024
                    for n in re.findall(r"(?:Private|Shared)_Dirty:\s+(\d+)", file.read())
                )

        target = f"{path}.copy"
        with (
            open(path, "rb") as f,
            mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m,
            open(target, "wb") as g,
        ):
            g.write(m)
            g.flush()
            source, unsynced = written_only(path), written_only(target)
            os.fsync(g.fileno())
            return source, unsynced, written_only(target)

    if not os.path.exists("/proc/self/smaps_rollup"):
        return None
    source, unsynced, synced = measure(kinds, path).value
    return 3 if source < 0.1 and unsynced > 0.8 and synced < 0.1 else 0
