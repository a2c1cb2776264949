def registry():
    """register(kind, function), and run(value), which dispatches on its type."""
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in type(value).__mro__:
            if kind in table:
                return table[kind](value)
        raise TypeError(
            f"nothing is registered for {type(value).__name__}, nor for a base class of it"
        )

    return register, run
