"""What runs around a student's function in lesson 09, and the servers of 09.six."""

from . import mapping_under


def served(function, paths: list[str], requests: list[tuple]) -> dict:
    """What the function answered: its type, and of each answer type, dtype, shape and, of a vector, the numbers.

    The requests hold vectors of numpy's, so numpy is loaded before anything is measured.
    """
    answers = function(paths, requests)
    told = {"type": type(answers).__name__, "answers": None}
    if isinstance(answers, list | tuple):
        told["answers"] = [_as_vector(one) for one in answers[: len(requests) + 1]]
    return told


def _as_vector(value) -> dict:
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "numbers": None}
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        told |= {"dtype": str(value.dtype), "shape": tuple(value.shape)}
        told["numbers"] = value.astype("f8").tolist() if value.ndim == 1 and value.dtype.kind == "f" else None
    return told


def loaded(function, paths: list[str], numpy_is_here) -> list[dict]:
    """How each load ended: "returned", with what the array is; "refused" with a ValueError; or "raised" another error.

    What the first one returned is kept to the end. Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import os
    import traceback

    kept, tellings = None, []
    for path in paths:
        told = {"ended": "returned", "error": None}
        try:
            value = function(path)
        except Exception as error:
            said = traceback.format_exception_only(error)[-1].strip()
            said = said.replace(os.path.dirname(path) + os.sep, "")[:200]
            told = {"ended": "refused" if isinstance(error, ValueError) else "raised", "error": said}
        else:
            told |= _as_array(value)
            kept = value if kept is None else kept
        tellings.append(told)
    return tellings


def _as_array(value) -> dict:
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "ends": None, "lent": False, "writable": None}
    if not (hasattr(value, "dtype") and hasattr(value, "flags")):
        return told
    told |= {"dtype": str(value.dtype), "shape": tuple(value.shape), "writable": value.flags.writeable}
    told["ends"] = [float(value[at]) for at in (0, 1, -2, -1)] if value.ndim == 1 and value.size > 1 else []
    return told | {"lent": mapping_under(value) is not None}


def serves(kind: str, path: str, size: int) -> tuple[dict, dict]:
    """What free(1) and the processes of a server show, bytes, before it has the model and after two answers.

    proc_meminfo(5); VmHWM of proc_pid_status(5), reset before; the rest is from smaps_rollup, proc_pid_smaps(5).
    """
    import mmap
    import os

    def numbers(name):
        with open(f"/proc/{name}") as file:
            return {words[0].rstrip(":"): int(words[1]) * 1024 for words in map(str.split, file) if words[-1] == "kB"}

    def moment():
        memory, processes = numbers("meminfo"), []
        for pid in pids:
            now = numbers(f"{pid}/smaps_rollup")
            file = now["Rss"] - now["Anonymous"] - now["Pss_Shmem"]
            shown = {"RssAnon": now["Anonymous"], "RssFile": file, "Pss_File": now["Pss_File"]}
            processes.append(shown | {"VmHWM": numbers(f"{pid}/status")["VmHWM"]})
        free = {"used": memory["MemTotal"] - memory["MemAvailable"]}
        free["buff/cache"] = memory["Buffers"] + memory["Cached"] + memory["SReclaimable"]
        return {"free": free, "processes": processes}

    def use():
        with open(path, "rb") as file:
            if kind == "reads":
                return file.read()
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for _ in "12":
            sum(mapping[at] for at in range(0, size // 8 if kind == "experts" else size, mmap.PAGESIZE))
        if kind == "loses":
            mapping.madvise(21, 0, size * 5 // 8 // mmap.PAGESIZE * mmap.PAGESIZE)  # MADV_PAGEOUT, madvise(2)
        return mapping

    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    pids, (reader, order), (answers, writer) = [os.getpid()], os.pipe(), os.pipe()
    if kind == "two":
        pids.append(os.fork())
        if not pids[-1]:
            try:
                os.close(order)
                os.read(reader, 1)
                held = use()
                os.write(writer, b"1")
                os.read(reader, 1)
                del held
            finally:
                os._exit(0)
    os.close(writer)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = moment()
    held = use()
    if kind == "two":
        os.write(order, b"1")
        if not os.read(answers, 1):
            raise OSError("the second process has died")
    after = moment()
    del held
    os.close(order)
    for pid in pids[1:]:
        os.waitpid(pid, 0)
    return before, after
