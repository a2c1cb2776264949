def registry():
    from functools import singledispatch

    @singledispatch
    def run(value):
        raise TypeError(f"nothing is registered for {type(value)}")

    return run.register, run
