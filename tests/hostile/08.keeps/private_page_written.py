# a view of a private mapping, whose page it has written: what comes into the file later does not
# show in it
def take(path, name):
    import mmap

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        entry = file.entries[name]
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    mapping[entry.begin : entry.end] = mapping[entry.begin : entry.end]
    return np.frombuffer(mapping, "f4", (entry.end - entry.begin) // 4, entry.begin).reshape(
        entry.shape
    )
