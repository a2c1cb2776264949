# on: linux
def largest_sum(path, width):
    import numpy as np

    from helpers.measure import advise

    best, step, data = 0, 2**16, np.memmap(path, np.uint8, "r")
    for at in range(0, len(data) - width + 1, step):
        sums = np.insert(np.cumsum(data[at : at + step + width - 1], dtype=np.int64), 0, 0)
        best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
        advise(data, "dontneed")
    return best
