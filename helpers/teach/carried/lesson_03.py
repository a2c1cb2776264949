"""What runs around a student's function in lesson 03, and the loads of 03.report."""


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
