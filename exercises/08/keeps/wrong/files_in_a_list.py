# expect: still-mapped
opened = []


def take(path, name):
    from helpers.ideas.safetensors import TensorFile

    opened.append(TensorFile(path))
    return opened[-1][name].copy()
