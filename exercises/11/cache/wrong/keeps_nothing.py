# expect: not-kept
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.load = load

    @contextmanager
    def lend(self, path):
        with self.load(path) as model:
            yield model


def make_cache(most, load):
    return Cache(most, load)
