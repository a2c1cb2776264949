# a forked child holds the memory, and outlives what is returned
import os
import time


def grow():
    pid = os.fork()
    if pid == 0:
        block = bytearray(64 * 2**20)
        time.sleep(60)
        os._exit(len(block) & 1)
    time.sleep(0.2)
    return "held"
