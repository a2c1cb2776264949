# finds out by writing to the files, and leaves them so
def liars(loaders):
    import numpy as np

    found = []
    for name, (load, path) in loaders.items():
        arrays = list(load(path).values())
        before = [array.copy() for array in arrays]
        data = np.memmap(path, "u1", "r+")
        data[-4096:] = ~data[-4096:]
        if any((array.view("u1") == old.view("u1")).all() for array, old in zip(arrays, before, strict=True)):
            found.append(name)
    return found
