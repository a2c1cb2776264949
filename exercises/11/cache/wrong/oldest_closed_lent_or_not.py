# expect: unmapped-while-lent
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.models = most, load, {}

    @contextmanager
    def lend(self, path):
        self.models[path] = self.models.pop(path) if path in self.models else self.load(path)
        while len(self.models) > self.most:
            self.models.pop(next(iter(self.models))).close()
        yield self.models[path]


def make_cache(most, load):
    return Cache(most, load)
