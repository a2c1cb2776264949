def take(path, name):
    import mmap

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        entry = file.entries[name]
    with open(path, "rb") as file:
        memory = mmap.mmap(-1, entry.end - entry.begin)
        file.seek(entry.begin)
        file.readinto(memory)
    return np.frombuffer(memory, "f4").reshape(entry.shape)
