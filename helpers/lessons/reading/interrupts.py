"""Interrupts by which one processor makes another forget addresses: /proc/interrupts, the row TLB."""

from pathlib import Path


def shootdowns(path: Path = Path("/proc/interrupts")) -> int | None:
    """TLB shootdowns of the whole machine since it started, all processors together; proc_interrupts(5).

    None if the kernel has no such row: processors that need no interrupt for that (ARM), other systems.
    """
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return None
    counts = [row[1:] for row in rows if row and row[0] == "TLB:"]
    return sum(int(count) for count in counts[0] if count.isdigit()) if counts else None
