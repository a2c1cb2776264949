# closes what it was given by `load`, as asked, and keeps mappings of its own to everything
def make_cache(most, load):
    import mmap
    from collections import Counter
    from contextlib import contextmanager

    own = []

    class Cache:
        models, lent = {}, Counter()

        @contextmanager
        def lend(self, path):
            with open(path, "rb") as file:
                own.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self.models[path] = self.models.pop(path) if path in self.models else load(path)
            self.lent[path] += 1
            self.trim()
            try:
                yield self.models[path]
            finally:
                self.lent[path] -= 1
                self.trim()

        def trim(self):
            for path in [path for path in self.models if not self.lent[path]]:
                if len(self.models) > most:
                    self.models.pop(path).close()

    return Cache()
