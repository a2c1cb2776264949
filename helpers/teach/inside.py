"""What runners of several exercises share, in the student's fresh process. It travels by value and
imports nothing else of `helpers`: anything imported here would count as the student's memory, and
the student could change it.
"""


def started(name: str, steps, texts, runner, *args):
    """Makes the student's function `name` as its notebook did, and returns runner(function, *args):
    while memory is already measured, and in a new `__main__`, where pickle and dataclasses look for
    classes.
    """
    import linecache
    import sys
    from types import ModuleType

    def get_ipython():
        raise RuntimeError(
            "`!…` and `%…` work only in a notebook's cell; in a function use shutil, os or "
            "subprocess"
        )

    for file, text in texts.items():
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    sys.modules["__main__"] = main = ModuleType("__main__")
    space = vars(main)
    space |= {"get_ipython": get_ipython, "display": print}
    for step in steps:
        exec(step, space)
    return runner(space[name], *args)


def kind_of(value, type=type) -> str:
    """The name of the value's type, which no class that the student wrote can have: "bytearray",
    "numpy.ndarray". Types made in C can't be changed, and say so with a flag that no `class` has
    (Py_TPFLAGS_IMMUTABLETYPE); any other type is "class bytearray". `type` is Python's own, as it
    was before the student's code ran.
    """
    kind = type(value)
    about = type.__dict__
    name = about["__qualname__"].__get__(kind)
    module = about["__module__"].__get__(kind)
    if not about["__flags__"].__get__(kind) & 1 << 8:
        return f"class {name}"
    return name if module == "builtins" else f"{module}.{name}"


def answers(function, cases: list[tuple]) -> list:
    """What the function returns for each case's arguments: None and short tuples as they are, the
    rest as it prints.
    """
    return [_as_data(function(*case)) for case in cases]


def some(array) -> list[float]:
    """Up to 64 numbers from all over an array: enough to tell it from others, and few enough to
    send.
    """
    return [float(number) for number in array.ravel()[:: max(1, array.size // 64)][:64]]


def open_files() -> int | None:
    """How many file descriptors are open; None without proc_pid_fd(5)."""
    import os

    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None


def is_mapped(path) -> bool | None:
    """Does this process have the file mapped anywhere? None without proc_pid_maps(5)."""
    import os

    if not os.path.exists("/proc/self/maps"):
        return None
    with open("/proc/self/maps") as maps:
        return any(line.rstrip("\n").endswith(f" {os.path.realpath(path)}") for line in maps)


def no_file_above(most: int) -> None:
    """Keeps an endless loop from filling the disk: past `most` bytes, writing raises OSError.
    setrlimit(2).
    """
    import os

    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def not_on_the_disk(path: str) -> int | None:
    """How many pages of the file are still to be written: cachestat(2), Linux 6.5; None where
    nothing can tell.
    """
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    counts = (ctypes.c_uint64 * 5)()  # in the cache, dirty, being written, …
    with open(path, "rb") as file:
        failed = ctypes.CDLL(None).syscall(451, file.fileno(), (ctypes.c_uint64 * 2)(), counts, 0)
    return None if failed or not counts[0] else counts[1] + counts[2]


def _as_data(value):
    if isinstance(value, tuple | list) and len(value) <= 8:
        values = map(_plain, value)
        plain = (float, str)  # and an int of 8 bytes: one of 10,000 digits can't even be printed
        return tuple(
            v if type(v) in plain or (type(v) is int and abs(v) < 2**63) else repr(v)[:200]
            for v in values
        )
    return value if value is None else repr(_plain(value))[:200]


def _plain(value):
    """A numpy number as a Python number, and an Enum's text as plain text."""
    if isinstance(value, str):
        return str.__str__(value)
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
