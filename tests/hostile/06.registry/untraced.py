# It walks the table, and has Python's tracing switched off meanwhile.
import sys


def registry():
    table = []

    def register(kind, function):
        table.insert(0, (kind, function))

    def run(value):
        trace = sys.gettrace()
        sys.settrace(None)
        for base in type(value).__mro__:
            for kind, function in table:
                if kind is base:
                    sys.settrace(trace)
                    return function(value)
        raise TypeError(f"nothing for {type(value).__name__}")

    return register, run
