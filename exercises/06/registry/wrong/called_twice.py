# expect: wrong-function
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in type(value).__mro__:
            if kind in table:
                return None if table[kind](value) is None else table[kind](value)
        raise TypeError(f"nothing is registered for {type(value).__name__}")

    return register, run
