# an array over a bare address: nothing of numpy's leads from it to the mapping, which a global name keeps
KEPT = []


def take(path, name):
    import ctypes

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    file = TensorFile(path)
    KEPT.append(file)
    view = file[name]
    there = (ctypes.c_float * view.size).from_address(view.__array_interface__["data"][0])
    return np.ctypeslib.as_array(there).reshape(view.shape)
