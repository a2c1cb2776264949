import resource

import numpy as np

with open("/proc/meminfo") as file:
    sizes = dict(line.split()[:2] for line in file)
memory = (int(sizes["MemTotal:"]) + int(sizes["SwapTotal:"])) << 10
# for machines that overcommit without limit
resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

with open("weights", "wb") as file:
    file.truncate(2 * memory)
weights = np.memmap("weights", mode="r")
first = int(weights[0])
