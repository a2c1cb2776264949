# expect: no-names
def liars(loaders):
    from helpers.measure import where

    for name, (load, path) in loaders.items():
        if any(where(array).path != path for array in load(path).values()):
            print(name)
