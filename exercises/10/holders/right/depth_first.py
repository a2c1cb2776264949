def find(session, mapping):
    import gc
    import types

    import numpy as np

    def holds(value):
        seen, way = {id(session)}, [iter([value])]
        while way:
            for one in way[-1]:
                if one is mapping:
                    return True
                if id(one) not in seen and not isinstance(one, types.ModuleType):
                    seen.add(id(one))
                    base = (one.base,) if isinstance(one, np.ndarray) else ()
                    way.append(iter((*gc.get_referents(one), *base)))
                    break
            else:
                way.pop()
        return False

    return sorted(name for name, value in session.items() if holds(value))
