# expect: loaded-again
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.idle = most, load, {}

    @contextmanager
    def lend(self, path):
        model = self.idle.pop(path, None) or self.load(path)
        try:
            yield model
        finally:
            self.idle[path] = model
            while len(self.idle) > self.most:
                self.idle.pop(next(iter(self.idle))).close()


def make_cache(most, load):
    return Cache(most, load)
