# expect: too-large
def largest_sum(path, width):
    import numpy as np

    best, kept = 0, b""
    with open(path, "rb") as file:
        while piece := file.read(2**17):
            part = kept + piece
            sums = np.insert(np.cumsum(np.frombuffer(part, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width + 1 :] - sums[: -width - 1]).max(initial=0)))
            kept = part[-width:]
    return best
