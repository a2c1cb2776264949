# expect: missed
def liars(loaders):
    from helpers.measure import where

    found = []
    for name, (load, path) in loaders.items():
        for array in load(path).values():
            lies = where(array).path != path
        if lies:
            found.append(name)
    return found
