# expect: accused
def liars(loaders):
    import numpy as np

    found = []
    for name, (load, path) in loaders.items():
        if any(not isinstance(array, np.memmap) for array in load(path).values()):
            found.append(name)
    return found
