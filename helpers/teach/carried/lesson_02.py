"""What runs around a student's function in lesson 02, and the processes of 02.report."""

import os


def copied(function, source, target, most: int) -> None:
    """The function copies `source` to `target`; what it returns does not matter."""
    _no_file_above(most)
    function(source, target)


def loaded(function, path, into, most: int) -> tuple[str, int | None]:
    """Name of the result's type, its length. A bytearray goes to the file `into`, where it is compared from outside."""
    _no_file_above(most)
    value = function(path)
    if type(value) is bytearray:
        with open(into, "wb") as file:
            file.write(value)
    return type(value).__name__, len(value) if hasattr(value, "__len__") else None


def report(kind: str, path: str, size: int) -> str:
    """The status of this process, proc_pid_status(5), while it holds `size` bytes in the way that `kind` names."""
    import mmap
    import time

    held = []
    if kind in ("read", "read and map"):
        with open(path, "rb") as file:
            held.append(file.read(size))
    if kind in ("map", "read and map", "map, untouched"):
        with open(path, "rb") as file:
            held.append(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
        if kind != "map, untouched":
            held.append(sum(held[-1][at] for at in range(0, size, mmap.PAGESIZE)))
    if kind == "share":
        held.append(mmap.mmap(-1, size))
        for at in range(0, size, mmap.PAGESIZE):
            held[-1][at] = 1
    time.sleep(0.05)  # so that whoever samples from outside sees what this report says
    with open("/proc/self/status") as file:
        return file.read()


def _no_file_above(most: int) -> None:
    """A loop that never ends must not fill the disk: from `most` bytes on, writing is an OSError. setrlimit(2)."""
    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
