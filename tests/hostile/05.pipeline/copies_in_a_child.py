# The copies are made in a forked child, and come back through a pipe.
import os


def prepare(layer, first, scale):
    import numpy as np

    out = np.empty(layer.shape[1] * (len(layer) - first), "f4")
    read, write = os.pipe()
    if os.fork() == 0:
        rows = layer[np.arange(first, len(layer))]
        scaled = (rows.astype("float32").T / scale).flatten()
        with open(write, "wb") as pipe:
            pipe.write(scaled.data)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        pipe.readinto(out.data.cast("B"))
    os.wait()
    return out
