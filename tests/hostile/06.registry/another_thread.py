# It walks the table in a thread, whose steps are not those of the caller.
import threading


def registry():
    table = []

    def register(kind, function):
        table.insert(0, (kind, function))

    def run(value):
        found = []

        def walk():
            for base in type(value).__mro__:
                found.extend(function for kind, function in table if kind is base)

        thread = threading.Thread(target=walk)
        thread.start()
        thread.join()
        if not found:
            raise TypeError(f"nothing for {type(value).__name__}")
        return found[0](value)

    return register, run
