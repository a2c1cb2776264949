# expect: no-type-error
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in type(value).__mro__:
            if kind in table:
                return table[kind](value)

    return register, run
