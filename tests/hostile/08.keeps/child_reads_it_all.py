# a child reads the whole file, and sends the few bytes that are wanted
def take(path, name):
    import os

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        entry = file.entries[name]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with open(path, "rb") as file:
            data = file.read()
        os.write(writer, data[entry.begin : entry.end])
        os._exit(0)
    data = os.read(reader, entry.end - entry.begin)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    return np.frombuffer(data, "f4").reshape(entry.shape)
