from collections import Counter
from contextlib import contextmanager, suppress


class Cache:
    def __init__(self, most, load):
        self.most, self.load = most, load
        self.models = {}  # path -> mapping; what was lent last is at the end
        self.lent = Counter()  # path -> how often it's lent now

    @contextmanager
    def lend(self, path):
        self.models[path] = self.models.pop(path) if path in self.models else self.load(path)
        self.lent[path] += 1
        self.unmap_what_is_too_much()
        try:
            yield self.models[path]
        finally:
            self.lent[path] -= 1
            self.unmap_what_is_too_much()

    def unmap_what_is_too_much(self):
        idle = [path for path in self.models if not self.lent[path]]
        too_many = max(0, len(self.models) - self.most)
        for path in idle[:too_many]:
            with suppress(BufferError):  # a view that is still there keeps it until it goes
                self.models.pop(path).close()


def make_cache(most, load):
    """A cache, for `with cache.lend(path) as mapping`. It has at most `most` models mapped, or as
    many as are lent.
    """
    return Cache(most, load)
