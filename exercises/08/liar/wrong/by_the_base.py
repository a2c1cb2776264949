# expect: missed
def liars(loaders):
    found = []
    for name, (load, path) in loaders.items():
        if any(array.base is None for array in load(path).values()):
            found.append(name)
    return found
