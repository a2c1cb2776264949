# fills shared memory piece by piece, and lets its page table forget each piece: the pages stay
# expect: too-much-memory
import mmap


def copy_small(source, target):
    size = source.stat().st_size
    memory = mmap.mmap(-1, size)
    piece = 2**20
    with open(source, "rb", buffering=0) as file, memoryview(memory) as view:
        for at in range(0, size, piece):
            file.readinto(view[at : at + piece])
            memory.madvise(mmap.MADV_DONTNEED, at, min(piece, size - at))
    with open(target, "wb") as copy:
        for at in range(0, size, piece):
            copy.write(memory[at : at + piece])
            memory.madvise(mmap.MADV_DONTNEED, at, min(piece, size - at))
