"""Interrupts that one processor sends another so that it forgets addresses: /proc/interrupts, the row TLB."""

from pathlib import Path


def shootdowns(path: Path = Path("/proc/interrupts")) -> int | None:
    """TLB shootdowns of the whole machine since it started, all processors together; proc_interrupts(5).

    None where the kernel has no such row: processors that need no interrupt for it (ARM), other systems.
    """
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return None
    counts = [row[1:] for row in rows if row and row[0] == "TLB:"]
    return sum(int(word) for word in counts[0] if word.isdigit()) if counts else None
