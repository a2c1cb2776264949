# on: linux
def save(array, path):
    import mmap
    import os

    beside = path.with_suffix(".new")
    try:
        with open(beside, "w+b") as file:
            os.posix_fallocate(file.fileno(), 0, array.nbytes)
            with mmap.mmap(file.fileno(), array.nbytes) as mapping:
                mapping.write(array)
                mapping.flush()
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
