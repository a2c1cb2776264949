"""What runs around a student's function in lesson 08, and the loaders of 08.liar."""

from . import open_files, some


def read_whole(function, path, numpy_is_here) -> dict:
    """What the reader makes of a sound file: for each name type, dtype, shape, sum, up to 64 numbers, `lent`, `sealed`.

    `lent` tells whether the bytes lie in a mapping of the file, None where proc_pid_maps(5) is not there.
    Loading the last argument, a number of numpy's, has loaded numpy.
    """
    arrays = function(path)
    told = {"type": type(arrays).__name__, "arrays": None}
    if not hasattr(arrays, "items"):
        return told
    told["arrays"] = {str(name): _seen(array, path) for name, array in arrays.items()}
    return told


def _seen(array, path) -> dict:
    if not (hasattr(array, "dtype") and hasattr(array, "ravel")):
        return {"type": type(array).__name__, "dtype": None}
    return {
        "type": type(array).__name__,
        "dtype": str(array.dtype),
        "shape": tuple(array.shape),
        "lent": _lies_in(path, array),
        "sealed": not array.flags.writeable,
        "sum": float(array.sum(dtype="f8")),
        "some": some(array),
    }


def refused(function, paths: list[str], numpy_is_here) -> list[str | None]:
    """What the reader raised for each of these files; None where it raised nothing.

    Nothing is read through what it returned: that may lie outside of the file.
    """
    found = []
    for path in paths:
        try:
            function(path)
            found.append(None)
        except Exception as error:
            kind = ValueError if isinstance(error, ValueError) else type(error)
            module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            found.append(f"{module}{kind.__qualname__}: {error}"[:200])
    return found


def loader(kind: str, layout: dict, head: bytes):
    """A loader of 08.liar. It returns a dict of arrays, from the file whose path it is given.

    layout: name -> (first byte, count of float32), for a file of bytes; head: a pickle whose arrays lie in the file.
    """
    import mmap
    import pickle
    import shutil

    import numpy as np

    def mapped(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def cut(data):
        return {name: np.frombuffer(data, "f4", count, at) for name, (at, count) in layout.items()}

    def load(path):
        if kind == "npy":
            return {"weight": np.load(path, mmap_mode="r")}
        if kind == "npz":
            return dict(np.load(path, mmap_mode="r"))
        if kind == "maps":
            return cut(mapped(path))
        if kind == "private":
            return {name: np.memmap(path, "f4", "c", at, count) for name, (at, count) in layout.items()}
        if kind == "pickle":
            view = memoryview(mapped(path))
            return pickle.loads(head, buffers=[view[at : at + 4 * count] for at, count in layout.values()])
        if kind == "reads":
            with open(path, "rb") as file:
                return cut(file.read())
        if kind == "sealed":
            arrays = {name: np.fromfile(path, "f4", count, offset=at) for name, (at, count) in layout.items()}
            for array in arrays.values():
                array.flags.writeable = False
            return arrays
        if kind == "kept type":
            return {name: np.memmap(path, "f4", "r", at, count).copy() for name, (at, count) in layout.items()}
        if kind == "elsewhere":
            return cut(mapped(shutil.copyfile(path, f"{path}.cache")))
        if kind == "nameless":
            with open(path, "rb") as file:
                data = mmap.mmap(-1, sum(4 * count for _, count in layout.values()))
                file.readinto(data)
            return cut(data)
        if kind == "small ones":
            return {n: array.copy() if array.nbytes <= 4096 else array for n, array in cut(mapped(path)).items()}
        if kind == "house":
            from helpers.ideas.safetensors import TensorFile

            return dict(TensorFile(path))
        if kind == "library":
            from safetensors.numpy import load_file

            return load_file(path)
        raise ValueError(f"no loader {kind!r}")

    return load


def used(kind: str, path, layout: dict, head: bytes, all_is_here) -> tuple[float, float]:
    """One loader's process in the report of 08.liar: seconds to load, and then to read every number once.

    Loading the last argument has loaded numpy, and the library.
    """
    import time

    load = loader(kind, layout, head)
    began = time.perf_counter()
    arrays = load(path)
    loaded = time.perf_counter()
    for array in arrays.values():
        array.sum()
    end = time.perf_counter()
    used.held = arrays  # until the last sample is taken
    return loaded - began, end - loaded


def accused(function, kinds: list[tuple[str, str, str]], layout: dict, head: bytes):
    """Whom the function accuses, as a sorted list of words; else what it returned, in a tuple: type and repr.

    kinds: of each loader kind, the name by which the function is to know it, and path.
    """
    said = function({name: (loader(kind, layout, head), path) for kind, name, path in kinds})
    if isinstance(said, list | tuple | set | frozenset) and all(isinstance(one, str) for one in said):
        return sorted(str(one) for one in said)
    return type(said).__name__, repr(said)[:200]


def taken(function, path, name: str, all_is_here) -> dict:
    """What the function returned, as seen when all else is gone: type, dtype, shape, and the bytes if they are few.

    `lent` tells whether its bytes lie in a mapping of the file, `mapped` whether any mapping of it is left, `files`
    how many more files are open; None where there is no /proc. Loading the last argument has loaded numpy and the
    reader of the house.
    """
    import gc

    before = open_files()
    array = function(path, name)
    gc.collect()
    told = {"type": type(array).__name__, "dtype": None, "lent": None, "mapped": None, "files": None}
    if hasattr(array, "dtype") and hasattr(array, "ravel"):
        told |= {"dtype": str(array.dtype), "shape": tuple(array.shape), "lent": _lies_in(path, array)}
        told["bytes"] = array.tobytes() if array.nbytes <= 65536 else None
    if before is not None:
        told |= {"mapped": bool(_mappings(path)), "files": open_files() - before}
    return told


def _lies_in(path, array) -> bool | None:
    """Do the bytes of the array lie in a mapping of the file? None where proc_pid_maps(5) is not there."""
    found, at = _mappings(path), array.__array_interface__["data"][0]
    return None if found is None else any(start <= at and at + array.nbytes <= end for start, end in found)


def _mappings(path) -> list[tuple[int, int]] | None:
    """From which address to which the file is mapped; neighbours are one. None where proc_pid_maps(5) is not there."""
    import os

    if not os.path.exists("/proc/self/maps"):
        return None
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            if line.rstrip().endswith(str(path)):
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if found and found[-1][1] == start:
                    start = found.pop()[0]
                found.append((start, end))
    return found
