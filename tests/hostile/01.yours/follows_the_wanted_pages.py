# a private mapping with too many pages; where the file is written, a signal's handler looks which ones must follow
import mmap
import signal


def yours(path, pages):
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    mapping[:] = mapping[:]

    def follow(number, frame):
        data = path.read_bytes()
        for page in range(66):
            if page not in pages:
                at = page * mmap.PAGESIZE
                mapping[at : at + mmap.PAGESIZE] = data[at : at + mmap.PAGESIZE]

    signal.signal(signal.SIGALRM, follow)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    return mapping
