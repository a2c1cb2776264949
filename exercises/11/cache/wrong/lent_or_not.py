# expect: unmapped-while-lent
from contextlib import contextmanager


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.models, self.lent = most, load, {}, set()

    @contextmanager
    def lend(self, path):
        self.models[path] = self.models.pop(path) if path in self.models else self.load(path)
        self.lent.add(path)
        self.trim()
        try:
            yield self.models[path]
        finally:
            self.lent.discard(path)
            self.trim()

    def trim(self):
        for path in [path for path in self.models if path not in self.lent]:
            if len(self.models) > self.most:
                self.models.pop(path).close()


def make_cache(most, load):
    return Cache(most, load)
