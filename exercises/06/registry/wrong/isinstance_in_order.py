# expect: not-the-nearest
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in table:
            if isinstance(value, kind):
                return table[kind](value)
        raise TypeError(f"nothing is registered for {type(value).__name__}")

    return register, run
