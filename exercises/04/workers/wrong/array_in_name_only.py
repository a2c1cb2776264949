# expect: no-array
class Array:
    """All that one asks an array for, read anew each time."""

    def __init__(self, path):
        import numpy as np

        self.read = lambda: np.load(path)

    def __getattr__(self, name):
        return getattr(self.read(), name)


def load(path):
    return Array(path)
