import resource

import numpy as np

with open("table", "wb") as file:
    file.truncate(1 << 30)

with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
limit = taken + (512 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # ulimit -d

table = np.memmap("table", mode="r")
first = int(table[0])
