# expect: accused
def liars(loaders):
    found = []
    for name, (load, path) in loaders.items():
        if any(array.flags.writeable for array in load(path).values()):
            found.append(name)
    return found
