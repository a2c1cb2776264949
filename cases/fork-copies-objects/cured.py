import os

import numpy as np


def private():
    with open("/proc/self/smaps_rollup") as file:
        return int(file.read().split("Private_Dirty:")[1].split()[0]) << 10


count = 200_000
names = np.array([b"%0100d" % n for n in range(count)])

if (child := os.fork()) == 0:
    before = private()
    length = sum(len(name) for name in names)
    with open("copied", "w") as file:
        file.write(str(private() - before))
    os._exit(0)
os.waitpid(child, 0)
with open("copied") as file:
    copied = int(file.read())
