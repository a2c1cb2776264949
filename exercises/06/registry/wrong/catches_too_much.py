# expect: error-caught
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in type(value).__mro__:
            try:
                return table[kind](value)
            except KeyError:
                pass
        raise TypeError(f"nothing is registered for {type(value).__name__}")

    return register, run
