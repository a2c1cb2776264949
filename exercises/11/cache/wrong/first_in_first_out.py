# expect: another-unmapped
from collections import Counter
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.models, self.lent = most, load, {}, Counter()

    @contextmanager
    def lend(self, path):
        if path not in self.models:
            self.models[path] = self.load(path)
        self.lent[path] += 1
        self.trim()
        try:
            yield self.models[path]
        finally:
            self.lent[path] -= 1
            self.trim()

    def trim(self):
        for path in [path for path in self.models if not self.lent[path]]:
            if len(self.models) > self.most:
                self.models.pop(path).close()


def make_cache(most, load):
    return Cache(most, load)
