# expect: not-the-nearest
def registry():
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        if type(value) not in table:
            raise TypeError(f"nothing is registered for {type(value).__name__}")
        return table[type(value)](value)

    return register, run
