# A class of its own is called TypeError, and is none.
class TypeError(Exception):
    pass


def registry():
    table = {}

    def run(value):
        for kind in type(value).__mro__:
            if kind in table:
                return table[kind](value)
        raise TypeError(type(value).__name__)

    return table.__setitem__, run
