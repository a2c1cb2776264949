# expect: still-mapped
from collections import Counter
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.models, self.lent = most, load, {}, Counter()

    @contextmanager
    def lend(self, path):
        self.models[path] = self.models.pop(path) if path in self.models else self.load(path)
        self.lent[path] += 1
        for other in [other for other in self.models if not self.lent[other]]:
            if len(self.models) > self.most:
                self.models.pop(other).close()
        try:
            yield self.models[path]
        finally:
            self.lent[path] -= 1


def make_cache(most, load):
    return Cache(most, load)
