import fcntl
import os
import time

import numpy as np


def clean(folder, days):  # played: what systemd-tmpfiles does every day, by two of its times
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody has locked it: leave it alone
        return
    for entry in os.scandir(folder):
        if max(entry.stat().st_atime, entry.stat().st_mtime) < time.time() - days * 86400:
            os.remove(entry)


os.mkdir("scratch")
np.save("scratch/table.npy", np.arange(1000))
table = np.load("scratch/table.npy", mmap_mode="r")  # in use from now on
os.utime("scratch/table.npy", (time.time() - 11 * 86400,) * 2)  # 11 days later
clean("scratch", days=10)
again = np.load("scratch/table.npy", mmap_mode="r")  # as the next worker does
