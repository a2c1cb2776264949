# expect: still-mapped
# on: linux
opened = []


def take(path, name):
    import os
    import shutil

    from helpers.ideas.safetensors import TensorFile

    other = shutil.copy(path, f"{path}.copy")
    opened.append(TensorFile(path))
    os.replace(other, path)
    return opened[-1][name].copy()
