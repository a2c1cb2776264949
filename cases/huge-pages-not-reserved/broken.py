import mmap

with open("/proc/meminfo") as file:
    sizes = dict(line.split()[:2] for line in file)
reserved = int(sizes.get("HugePages_Total:", 0)) * int(sizes.get("Hugepagesize:", 0)) << 10
size = reserved + (64 << 20)  # more than there are, also on a machine that has some

MAP_HUGETLB = 0x40000
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
memory = mmap.mmap(-1, size, flags=flags | MAP_HUGETLB)
memory[:5] = b"hello"
