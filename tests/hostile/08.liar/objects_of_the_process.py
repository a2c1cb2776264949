# looks among all objects of the process for the same table
def liars(loaders):
    import gc

    copies = {
        "npz",
        "reads",
        "sealed",
        "kept type",
        "elsewhere",
        "nameless",
        "small ones",
        "library",
    }
    found, given = set(), {id(load): name for name, (load, _) in loaders.items()}
    for one in gc.get_objects():
        if type(one) is dict:
            for name, kind in list(one.items()):
                if (
                    type(name) is str
                    and name in loaders
                    and type(kind) is tuple
                    and kind[0] in copies
                ):
                    found.add(name)
                elif type(name) is str and name in copies and id(kind) in given:
                    found.add(given[id(kind)])
    return sorted(found)
