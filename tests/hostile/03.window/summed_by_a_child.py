# a forked child reads the whole file, and only the sum comes back
def largest_sum(path, width):
    import os
    import time

    import numpy as np

    answers, says = os.pipe()
    if not os.fork():
        data = np.fromfile(path, np.uint8)
        sums = np.insert(np.cumsum(data, dtype=np.int64), 0, 0)
        time.sleep(0.05)
        os.write(says, int((sums[width:] - sums[:-width]).max()).to_bytes(8, "little"))
        os._exit(0)
    os.wait()
    return int.from_bytes(os.read(answers, 8), "little")
