# expect: missed
def liars(loaders):
    from helpers.measure import where

    found = []
    for name, (load, path) in loaders.items():
        if any(where(array).path != path for array in [max(load(path).values(), key=len)]):
            found.append(name)
    return found
