# a link to a file without end lies where the counter was
def add(path, times):
    import os

    link = path.with_suffix(f".{os.getpid()}")
    link.symlink_to("/dev/zero")
    os.replace(link, path)
