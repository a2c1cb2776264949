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


def diagnosed(function, pairs: list[tuple[str, str]]) -> list:
    """What the function says of each two reports."""
    return [_as_data(function(*pair)) for pair in pairs]


def made_yours(function, path, pages: list[int], twin, look: bool) -> dict:
    """What the function returned, as seen by the process that has it: the name of its type, its length in bytes, the
    first byte that differs from the file `twin`; if `look`, the state of each page, the kind of memory in which they
    lie, and what may be done to it, "rw-p" in proc_pid_maps(5).
    """
    value = function(path, pages)
    told = {"type": type(value).__name__, "length": None, "differs": None, "states": None, "memory": "", "may": ""}
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError):  # nothing with bytes, or a mapping that is closed
        return told
    told["length"] = len(view)
    if look:
        from helpers.measure.maps import region_at  # here, when the function has done its work
        from helpers.measure.pages import page_map

        pages = page_map(value)
        region = region_at(pages.address)
        told |= {"states": pages.states.tolist(), "memory": region.kind, "may": region.permissions}
    with open(twin, "rb") as file:
        wanted = file.read(len(view))
    told["differs"] = next((at for at, byte in enumerate(wanted) if view[at] != byte), None)
    return told


def loader(kind: str, path: str, size: int) -> tuple[str, str]:
    """The status of this process at two moments, proc_pid_status(5), between which it loads data as `kind` says."""
    import mmap

    held = []

    def status():
        with open("/proc/self/status") as file:
            return file.read()

    def mapped():
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def touched(mapping, end=size):
        return mapping, sum(mapping[at] for at in range(0, end, mmap.PAGESIZE))

    status()  # once beforehand: what a first time costs is not the loader's
    with open(path, "rb") as file:
        if kind in ("walks", "both"):
            held.append(touched(mapped(), size // 8))
        elif kind == "trades":
            held.append(touched(mapped()))
        before = status()
        if kind in ("walks", "both"):
            touched(held[0][0])
        if kind in ("keeps", "both"):
            held += iter(lambda: file.read(64 * 1024), b"")
        elif kind == "shares":
            held.append(mmap.mmap(-1, size))
            for at in range(0, size, mmap.PAGESIZE):
                held[0][at] = 1
        elif kind == "promises":
            index = mmap.mmap(-1, 256 * 1024, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # new pages for sure
            file.readinto(index)
            held += mapped(), index
        elif kind == "spikes":
            held.append(len(file.read()))
        elif kind == "trades":
            held.clear()
            held.append(file.read())
        return before, status()


def looked_up(function, path, positions: list[int], numpy_is_here):
    """What the function returns. Bytes go back as they are, anything else as the name of its type.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    value = function(path, positions)
    return value if type(value) is bytes else type(value).__name__


def largest(function, paths: list, width: int, numpy_is_here) -> list:
    """What the function returns for each file: a number as it is, anything else as the name of its type.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    values = [function(path, width) for path in paths]
    whole = [hasattr(one, "__index__") and type(one) is not bool and not getattr(one, "ndim", 0) for one in values]
    return [int(one) if is_whole else type(one).__name__ for one, is_whole in zip(values, whole, strict=True)]


def load(how: str, path: str, places: list[int]) -> int:
    """Loads a file, or looks up the bytes at `places`; how many bytes of it were used, in whole pages."""
    import mmap
    import os

    size, page = os.path.getsize(path), mmap.PAGESIZE
    with open(path, "rb") as file:
        if how == "read":
            return len(file.read())
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            if how == "look up, advised":
                mapping.madvise(mmap.MADV_RANDOM)
            at = range(0, size, page) if how == "map" else places
            sum(mapping[one] for one in at)
            return min(size, page * len({one // page for one in at}))


def opened(function, path, numpy_is_here) -> dict:
    """What the function returned, as seen by the process that has it. It is kept, so that others can see what it costs.

    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    import mmap

    value = function(path)
    _kept.append(value)
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "mapped": False, "sum": None, "some": None}
    if not (hasattr(value, "dtype") and hasattr(value, "sum")):
        return told
    told |= {"dtype": str(value.dtype), "shape": tuple(value.shape), "sum": float(value.sum())}
    told["some"] = [float(one) for one in value.ravel()[:: max(1, value.size // 64)][:64]] if value.ndim == 1 else []
    owner = value
    while owner is not None and not told["mapped"]:
        told["mapped"] = isinstance(owner, mmap.mmap)
        owner = getattr(owner, "base", None) if hasattr(owner, "dtype") else getattr(owner, "obj", None)
    return told


_kept: list = []


def counted(function, path: str, shares: list[list[int]], at_once: int) -> list[str]:
    """A process for each share calls the function with each number in it, and at last with `at_once`; their errors.

    Two processes that never meet lose nothing, however wrong the function is. So they are made to meet: while a share
    is worked on, a process pauses between any two of its steps (bytecodes), as a scheduler may do. The last call runs
    at full speed.
    """
    import os
    import random
    import sys
    import time
    import traceback

    def paused(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # what others wrote runs at full speed
        frame.f_trace_opcodes = True
        if event == "opcode" and random.random() < 0.25:
            time.sleep(2e-5)
        return paused

    def work(share):
        random.seed(os.getpid())
        function(path, 0)  # imports what it needs: that has too many steps to be paused at
        sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
        sys.settrace(paused)
        for times in share:
            function(path, times)
        sys.settrace(None)
        function(path, at_once)

    started = []
    for share in shares:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            error = ""
            try:
                work(share)
            except BaseException:
                error = traceback.format_exc()
            finally:
                sys.settrace(None)
                os.write(writer, error[-8000:].encode())
                os._exit(0)
        os.close(writer)
        started.append((pid, reader))
    errors = []
    for pid, reader in started:
        with open(reader) as said:
            errors.append(said.read())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            errors[-1] = f"OSError: one of the processes was ended by signal {-code}"
    return errors


def crowd(kind: str, path: str, size: int, count: int = 4) -> tuple[list[dict], list[dict]]:
    """What `count` forks of this process have, bytes, before and after each has used data in the way `kind` names.

    From proc_pid_smaps(5): rss, pss, anonymous, private_dirty. Garbage is not collected meanwhile: that would write.
    """
    import gc
    import mmap
    import os

    gc.disable()
    every_page = range(0, size, mmap.PAGESIZE)
    data = None
    if kind == "list":
        data = [f"{i:08}" * 12 for i in range(size // 160)]
    elif kind == "array":
        data = bytearray(b"1") * size

    def mapped(access):
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), size, access=access)
        return mapping, sum(mapping[at] for at in every_page)

    def use(held):
        if kind == "list":
            sum(len(one) for one in data)
        elif kind == "array":
            sum(data[at] for at in every_page)
        elif kind == "maps":
            return mapped(mmap.ACCESS_READ)
        elif kind == "reads":
            with open(path, "rb") as file:
                return file.read(size)
        elif kind == "patches":
            for at in every_page:
                held[0][at] = 1
        return held

    def reading(pid):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = {words[0]: int(words[1]) * 1024 for words in map(str.split, file) if words[-1] == "kB"}
        names = {"rss": "Rss:", "pss": "Pss:", "anonymous": "Anonymous:", "private_dirty": "Private_Dirty:"}
        return {name: found[line] for name, line in names.items()}

    workers = []
    for _ in range(count):
        orders, answers = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(orders[1])
                held = mapped(mmap.ACCESS_COPY) if kind == "patches" else None
                os.write(answers[1], b"1")
                os.read(orders[0], 1)
                held = use(held)
                os.write(answers[1], b"2")
                os.read(orders[0], 1)
            finally:
                os._exit(0)
        os.close(orders[0])
        os.close(answers[1])
        workers.append((pid, orders[1], answers[0]))
    moments = []
    for _ in "12":
        if not all(os.read(answer, 1) for _, _, answer in workers):
            raise OSError(f"a worker that {kind} has died")
        moments.append([reading(pid) for pid, _, _ in workers])
        for _, order, _ in workers:
            os.write(order, b"1")
    for pid, order, answer in workers:
        os.close(order)
        os.close(answer)
        os.waitpid(pid, 0)
    return moments[0], moments[1]


def _as_data(value):
    if isinstance(value, tuple | list) and len(value) <= 8:
        return tuple(v if type(v) in (int, float, str) else repr(v)[:200] for v in map(_plain, value))
    return value if value is None else repr(_plain(value))[:200]


def _plain(value):
    """A number of numpy's as one of Python's."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value


def _no_file_above(most: int) -> None:
    """A loop that never ends must not fill the disk: from `most` bytes on, writing is an OSError. setrlimit(2)."""
    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
