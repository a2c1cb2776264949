"""What runs around a student's function in lesson 01, and the loaders of 01.report."""


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
        from helpers.measure.pages import page_map  # here, when the function has done its work

        pages = page_map(value)
        told |= {"states": pages.states.tolist(), "memory": pages.region.kind, "may": pages.region.permissions}
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
