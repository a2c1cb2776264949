# expect: stale
def registry():
    table, known = {}, {}

    def register(kind, function):
        table[kind] = function
        known.pop(kind, None)  # and its subclasses?

    def run(value):
        kind = type(value)
        if kind not in known:
            known[kind] = next((table[base] for base in kind.__mro__ if base in table), None)
        if known[kind] is None:
            raise TypeError(f"nothing is registered for {kind.__name__}")
        return known[kind](value)

    return register, run
