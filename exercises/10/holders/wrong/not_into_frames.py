# expect: missed
def find(session, mapping):
    import gc
    import types

    import numpy as np

    def reaches(value):
        seen, todo = {id(session)}, [value]
        while todo:
            one = todo.pop()
            if one is mapping:
                return True
            if id(one) in seen or isinstance(
                one, types.ModuleType | types.FrameType | types.GeneratorType
            ):
                continue
            seen.add(id(one))
            todo += gc.get_referents(one)
            if isinstance(one, np.ndarray):
                todo.append(one.base)
        return False

    return {name for name, value in session.items() if reaches(value)}
