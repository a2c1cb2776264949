# on: linux
def yours(path, pages):
    import mmap
    import os

    file = os.open(path, os.O_RDONLY)
    mapping = mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    os.close(file)
    for page in pages:
        begin, end = page * mmap.PAGESIZE, min((page + 1) * mmap.PAGESIZE, len(mapping))
        mapping[begin:end] = mapping[begin:end]
    return mapping
