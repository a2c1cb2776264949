import errno
import mmap


def content(path, length):
    with open(path, "rb") as file:
        try:
            return mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            return file.read(length)


first = content("/dev/urandom", 4096)[:16]
