# expect: walks-the-table, half
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for base in type(value).__mro__:
            for kind in table:
                if base is kind:
                    return table[kind](value)
        raise TypeError(f"nothing is registered for {type(value).__name__}")

    return register, run
