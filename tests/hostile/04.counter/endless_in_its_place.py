# a file without end lies where the counter was
def add(path, times):
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
