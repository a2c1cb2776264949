"""What runs around a student's function, in its fresh process. It travels by value, so it imports nothing of the house:
what the student's process loads must not count, and must not be there to be changed."""

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


def grown(function) -> str:
    """Holds what the function returns for long enough to be seen; the name of its type."""
    import time

    held = function()
    time.sleep(0.05)
    return type(held).__name__


def explained(function, reports: list[str]) -> list:
    """What the function says of each report. Anything but numbers and words is sent back as it prints."""
    return [_as_data(function(report)) for report in reports]


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


def _as_data(value):
    if isinstance(value, tuple | list) and len(value) <= 8:
        return tuple(v if type(v) in (int, float, str) else repr(v)[:200] for v in value)
    return value if value is None else repr(value)[:200]


def _no_file_above(most: int) -> None:
    """A loop that never ends must not fill the disk: from `most` bytes on, writing is an OSError. setrlimit(2)."""
    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
