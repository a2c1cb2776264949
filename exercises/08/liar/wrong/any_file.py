# expect: missed
def liars(loaders):
    from helpers.measure import where

    found = []
    for name, (load, path) in loaders.items():
        if any(where(array).memory != "file" for array in load(path).values()):
            found.append(name)
    return found
