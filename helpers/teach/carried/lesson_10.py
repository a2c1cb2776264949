"""What runs around a student's function in lesson 10: readers and a full disk, a session, and what Windows refuses."""


def saved(function, folder: str, source: str, numpy_is_here) -> dict:
    """What readers see while the function saves the numbers in `source` over shared/weights.bin, and what it leaves.

    They look before each of the function's steps (bytecodes): one has the old file mapped, another opens the file anew.
    Then it is called in two more folders: "full", where no file may grow past half of what is to be written
    (RLIMIT_FSIZE, setrlimit(2); None where there is none), and "interrupted", by Ctrl-C when it syncs.
    Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import os
    import sys
    import tempfile

    import numpy as np

    path = os.path.join(folder, "shared", "weights.bin")
    tempfile.tempdir = os.path.join(folder, "tmp")  # what is left in either goes with the folder
    os.chdir(os.path.join(folder, "here"))
    new, size = _mapped(source), os.path.getsize(source)
    array = np.frombuffer(new, np.float32)
    reader = None if os.name == "nt" else _mapped(path)  # there its mapping would forbid what is asked for
    at = [int(i) for i in np.linspace(0, size - 1, 64)]
    with open(path, "rb") as file:
        olds, news = _some(file, at), bytes(new[i] for i in at)
    told = {"seen": None, "elsewhere": None, "mode": os.stat(path).st_mode}
    on_disk, looks, interrupting = set(), 0, False

    def look():
        nonlocal looks
        looks += 1
        if told["seen"] or (looks > 2000 and looks % 100):
            return
        if reader and bytes(reader[i] for i in at) != olds:  # SIGBUS where the file is shorter now
            told["seen"] = "changed"
            return
        try:
            with open(path, "rb", buffering=0) as file:
                whole = os.fstat(file.fileno()).st_size == size and _some(file, at) in (olds, news)
        except FileNotFoundError:
            told["seen"] = "missing"
            return
        if not whole:
            told["seen"] = "half"

    def watched(frame, event, _):
        if frame.f_globals is not getattr(function, "__globals__", None):
            return None  # what others wrote is one step
        frame.f_trace_opcodes = True
        if event == "opcode":
            look()
        return watched

    def heard(event, args):
        if event == "os.rename" and _same(args[1], path):
            came_from = os.path.dirname(_real(args[0]))
            if not f"{came_from}/".startswith(f"{os.path.dirname(path)}/"):
                told["elsewhere"] = came_from

    def noting(sync):
        def synced(file):
            if interrupting:
                raise KeyboardInterrupt
            sync(file)
            there = os.fstat(file if isinstance(file, int) else file.fileno())
            if there.st_size == size and not (os.path.exists(path) and os.path.samestat(there, os.stat(path))):
                on_disk.add(there.st_ino)

        return synced

    for name in ("fsync", "fdatasync"):
        if real := getattr(os, name, None):
            setattr(os, name, noting(real))
            known = getattr(function, "__globals__", {})
            known.update({key: getattr(os, name) for key, value in known.items() if value is real})
    sys.addaudithook(heard)
    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    sys.settrace(watched)
    try:
        function(array, path)
    except OSError:
        if not told["elsewhere"]:
            raise
    finally:
        sys.settrace(None)
    if told["elsewhere"]:
        return told
    look()
    if told["seen"]:
        return told
    there = os.stat(path)
    told |= {"synced": there.st_ino in on_disk, "left": _others(path), "mode": (told["mode"], there.st_mode)}

    def fails(name):
        path, old = os.path.join(folder, name, "weights.bin"), b"\1" * 2**20
        with open(path, "wb") as file:
            file.write(old)
        part, raised = array[: len(old) // 4], False
        if name == "full":
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) // 2, limits[1]))
        try:
            function(part, path)
        except BaseException:
            raised = True
        if name == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        try:
            with open(path, "rb") as file:
                intact = file.read() == old
        except FileNotFoundError:
            intact = False
        return {"raised": raised, "intact": intact, "left": _others(path)}

    told["full"] = None
    if os.name == "posix":
        import resource

        told["full"] = fails("full")
    interrupting = True
    told["interrupted"] = fails("interrupted")
    return told


def searched(function, sessions: list[str], path: str, other: str) -> list[tuple]:
    """For each session: the names that the function gave, or its answer as it prints if it is no set, list or tuple of
    words; the session's names; and whether the file was let go when the names given were deleted.

    A session is source that makes its names from `weights` and `others`, arrays over mappings of the two files.
    """
    import gc
    import weakref

    import numpy as np

    told = []
    for source in sessions:
        mapping = _mapped(path)
        session = {"__name__": "__main__", "weights": np.frombuffer(mapping, np.uint8)}
        session["others"] = np.frombuffer(_mapped(other), np.uint8)
        exec(compile(source, "<session>", "exec"), session)
        for name in ("__name__", "__builtins__", "weights", "others"):
            session.pop(name, None)
        names = function(session, mapping)
        words = isinstance(names, set | frozenset | list | tuple) and all(isinstance(name, str) for name in names)
        said = sorted({str(name) for name in names}) if words else repr(names)[:200]
        there = list(session)
        for name in said if words else ():
            session.pop(name, None)
        seen = weakref.ref(mapping)
        del mapping, names
        gc.collect()
        told.append((said, there, seen() is None))
        session.clear()
    return told


def swapped(function, cases: list[tuple], numpy_is_here) -> list[dict]:
    """What each call of function(path, offset, count, new) came to, up to the first that did not do its work.

    A case is these four; what a right call returns, as (dtype, shape, CRC-32 of the bytes); and for how many seconds
    somebody else has the file at `path` mapped: 0 for nobody, infinity for until the end.

    Where the system is not Windows, an audit hook (PEP 578) refuses what Windows refuses: to replace, rename or delete
    a file that this process has open or mapped, and to cut one that it has mapped. What is open and mapped is read in
    proc_pid_fd(5) and proc_pid_maps(5); without these only the somebody is seen.
    Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import errno
    import math
    import os
    import sys
    import threading
    import time
    import zlib

    files, told, reader = [], {}, None

    def held(path):
        if not os.path.exists("/proc/self/maps"):
            return "mapped" if reader is not None and not reader.closed else None
        with open("/proc/self/maps") as maps:
            if any(line.rstrip("\n").endswith(f" {path}") for line in maps):
                return "mapped"
        for fd in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{fd}") == path:
                    return "open"
            except FileNotFoundError:  # the one that listed the others
                pass
        return None

    def windows(event, args):
        if not files or event not in ("os.rename", "os.remove", "os.truncate", "open"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_TRUNC):
            return
        path = files[0]
        touched = [_same(one, path) for one in args[: 2 if event == "os.rename" else 1]]
        if not any(touched):
            return
        told["tries"] += event == "os.rename"
        told["removed"] |= event in ("os.rename", "os.remove") and touched[0]
        why = None if os.name == "nt" else held(path)
        if why == "mapped" and event in ("open", "os.truncate"):
            raise OSError(errno.EINVAL, "Invalid argument; on Windows error 1224, the file is mapped", path)
        if why and event in ("os.rename", "os.remove"):
            told["why"] = why
            raise PermissionError(errno.EACCES, f"Access is denied; on Windows error 5, the file is {why}", path)

    sys.addaudithook(windows)
    ends = []
    for path, offset, count, new, wanted, stays in cases:
        with open(path, "rb") as file:
            old = zlib.crc32(file.read()) if stays else None
        inode = os.stat(new).st_ino
        told |= {"tries": 0, "removed": False, "why": None, "raised": False, "layer": None}
        reader = _mapped(path) if stays else None
        timer = threading.Timer(stays, reader.close) if 0 < stays < math.inf else None
        if timer:
            timer.start()
        files.append(path)
        began = time.perf_counter()
        try:
            layer = function(path, offset, count, new)
            told["layer"] = type(layer).__name__
            if hasattr(layer, "dtype") and hasattr(layer, "tobytes"):
                told["layer"] = str(layer.dtype), tuple(layer.shape), zlib.crc32(layer.tobytes())
        except PermissionError:
            told["raised"] = True
        finally:
            told["seconds"] = time.perf_counter() - began
            files.clear()
            layer = None
            if timer:
                timer.join()
            if reader is not None:
                reader.close()
        told["moved"] = os.path.exists(path) and os.stat(path).st_ino == inode
        told["waits"] = os.path.exists(new)
        told["intact"] = None
        if stays and os.path.exists(path):
            with open(path, "rb") as file:
                told["intact"] = zlib.crc32(file.read()) == old
        ends.append(dict(told))
        if not told["moved"] or told["removed"] or told["layer"] != wanted:
            break
    return ends


def _mapped(path: str):
    import mmap

    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _some(file, at: list[int]) -> bytes:
    """The bytes at these places of an open file."""
    found = []
    for i in at:
        file.seek(i)
        found.append(file.read(1))
    return b"".join(found)


def _real(path) -> str:
    import os

    return os.path.realpath(os.fsdecode(path))


def _same(one, path: str) -> bool:
    """Is `one`, which may be no path but a file descriptor, the same place as `path`?"""
    import os

    return isinstance(one, str | bytes | os.PathLike) and _real(one) == _real(path)


def _others(path: str) -> list[str]:
    """What else there is in the folder of `path`."""
    import os

    return sorted(set(os.listdir(os.path.dirname(path))) - {os.path.basename(path)})
