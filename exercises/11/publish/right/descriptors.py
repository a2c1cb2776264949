from os import O_CREAT, O_RDONLY, O_TRUNC, O_WRONLY, close, fsync, open, read, remove, rename, write


def publish(new, path):
    folder = open(path.parent, O_RDONLY)
    try:
        source = open(new, O_RDONLY)
        try:
            copy_beside(source, path.name, folder)
        finally:
            close(source)
        fsync(folder)
    finally:
        close(folder)


def copy_beside(source, name, folder):
    target = open("beside", O_WRONLY | O_CREAT | O_TRUNC, 0o644, dir_fd=folder)
    try:
        while piece := read(source, 100_000):
            while piece:
                piece = piece[write(target, piece) :]
        fsync(target)
        rename("beside", name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove("beside", dir_fd=folder)
        raise
    finally:
        close(target)
