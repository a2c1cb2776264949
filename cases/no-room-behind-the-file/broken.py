import mmap
import os

NORESERVE, size = 0x4000, 1 << 40
file = os.memfd_create("disk", os.MFD_HUGETLB)
os.ftruncate(file, size)
table = mmap.mmap(file, size, flags=mmap.MAP_SHARED | NORESERVE)
for n in range(0, size, 2 << 20):
    table[n] = 1
