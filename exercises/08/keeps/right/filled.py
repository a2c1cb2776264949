def take(path, name):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        tensor = np.empty_like(file[name])
        tensor[...] = file[name]
    return tensor
