"""What the kernel says: can this be mapped, and how often did a processor make another forget
addresses?
"""

import mmap
from pathlib import Path

from ...libc import map_pages, unmap_pages


def map_a_page(descriptor: int) -> None:
    """Maps the first page of what is open as `descriptor`, for reading, and unmaps it again,
    untouched. mmap(2), munmap(2). OSError if the kernel refuses: ENODEV where there are no pages to
    map, EACCES without the right to read.
    """
    unmap_pages(
        map_pages(mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor), mmap.PAGESIZE
    )


def shootdowns(path: Path = Path("/proc/interrupts")) -> int | None:
    """TLB shootdowns of the whole machine since it started, all processors together;
    proc_interrupts(5). None if the kernel has no such row: processors that need no interrupt for
    that (ARM), other systems.
    """
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return None
    counts = [row[1:] for row in rows if row and row[0] == "TLB:"]
    return sum(int(count) for count in counts[0] if count.isdigit()) if counts else None
