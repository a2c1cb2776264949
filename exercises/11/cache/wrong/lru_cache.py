# expect: still-mapped
def make_cache(most, load):
    from contextlib import contextmanager
    from functools import lru_cache

    opened = lru_cache(None)(load)

    class Cache:
        @contextmanager
        def lend(self, path):
            yield opened(path)

    return Cache()
