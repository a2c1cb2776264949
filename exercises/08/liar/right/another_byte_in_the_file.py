def liars(loaders):
    import numpy as np

    found = set()
    for name, (load, path) in loaders.items():
        arrays = list(load(path).values())
        before = [array.copy() for array in arrays]
        with open(path, "r+b") as file:
            whole = np.frombuffer(file.read(), "u1")
            file.seek(0)
            file.write(~whole)
            file.flush()
            for array, old in zip(arrays, before, strict=True):
                if (array.view("u1") == old.view("u1")).any():
                    found.add(name)
            file.seek(0)
            file.write(whole)
    return found
