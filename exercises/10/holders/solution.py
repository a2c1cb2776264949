# On Linux it is case("deleted-and-still-there") of helpers.casebook, on Windows
# case("windows-file-is-mapped").
def find(session, mapping):
    """The names in `session` that lead to `mapping`."""
    import gc
    import types

    import numpy as np

    def reaches(value):
        seen, todo = {id(session)}, [value]
        while todo:
            one = todo.pop()
            if one is mapping:
                return True
            if id(one) in seen or isinstance(one, types.ModuleType):
                continue
            seen.add(id(one))
            todo += gc.get_referents(one)
            if isinstance(one, np.ndarray):
                todo.append(one.base)
        return False

    return {name for name, value in session.items() if reaches(value)}
