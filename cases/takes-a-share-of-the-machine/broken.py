import mmap
import os
import resource

page = os.sysconf("SC_PAGE_SIZE")
machine = page * os.sysconf("SC_PHYS_PAGES")
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * page
limit = taken + (384 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # stands for a container's

cache = mmap.mmap(-1, machine // 2)
cache[0] = 1
