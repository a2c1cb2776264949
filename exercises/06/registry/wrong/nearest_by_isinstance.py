# expect: asks-the-types
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        fits = [kind for kind in table if isinstance(value, kind)]
        if fits:
            return table[min(fits, key=type(value).__mro__.index)](value)
        raise TypeError(f"nothing is registered for {type(value).__name__}")

    return register, run
