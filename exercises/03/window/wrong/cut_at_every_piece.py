# expect: between-pieces
def largest_sum(path, width):
    import numpy as np

    best = 0
    with open(path, "rb") as file:
        while piece := file.read(2**17):
            sums = np.insert(np.cumsum(np.frombuffer(piece, np.uint8), dtype=np.int64), 0, 0)
            best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
    return best
