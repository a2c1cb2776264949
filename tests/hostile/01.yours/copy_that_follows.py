# a copy in anonymous memory, into which a thread brings what is written into the file, but not into the wanted pages
import mmap
import threading


def follow(path, copy, pages):
    while True:
        data = path.read_bytes()
        for page in range(-(-len(data) // mmap.PAGESIZE)):
            if page not in pages:
                at = slice(page * mmap.PAGESIZE, (page + 1) * mmap.PAGESIZE)
                copy[at] = data[at]


def yours(path, pages):
    data = path.read_bytes()
    copy = mmap.mmap(-1, len(data))
    copy.write(data)
    threading.Thread(target=follow, args=(path, copy, pages), daemon=True).start()
    return copy
