# expect: no-names
def liars(loaders):
    from pathlib import Path

    from helpers.measure import where

    for name, (load, path) in loaders.items():
        if any(where(array).path != Path(path) for array in load(path).values()):
            print(name)
