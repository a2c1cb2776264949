# memory in shared mappings that no page table shows any more
# expect: not graded or memory-limit or still-running
def copy_small(source, target):
    import mmap

    held = []
    while True:
        held.append(mmap.mmap(-1, 2**26))
        held[-1].write(b"1" * 2**26)
        held[-1].madvise(mmap.MADV_DONTNEED)
