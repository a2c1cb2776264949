import os
from pathlib import Path

import numpy as np


def together(*processes):
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes]
    return sum(int(text.split("Pss:")[1].split()[0]) for text in texts) << 10


size = 64 << 20
table = np.zeros(size, np.uint8) + 1
before = together(os.getpid())
saved, done = os.pipe()
if (child := os.fork()) == 0:  # saves the table as it is now; here it only waits
    os.close(done)
    os.read(saved, 1)
    os._exit(0)
more = together(os.getpid(), child) - before
os.close(done)
os.waitpid(child, 0)
table += 1
