def find(session, mapping):
    import gc
    from types import ModuleType

    from numpy import ndarray

    names = []
    for name, value in session.items():
        seen, layer = {id(session): session}, [value]
        while layer and not any(one is mapping for one in layer):
            layer = [
                one for one in layer if id(one) not in seen and not isinstance(one, ModuleType)
            ]
            seen |= {id(one): one for one in layer}
            layer = gc.get_referents(*layer) + [
                one.base for one in layer if isinstance(one, ndarray)
            ]
        if layer:
            names.append(name)
    return tuple(names)
