# lends mappings of memory with the file's bytes in it: nothing of the file is ever mapped for long
def make_cache(most, load):
    import mmap
    from contextlib import contextmanager

    class Cache:
        @contextmanager
        def lend(self, path):
            with load(path) as model:
                copy = mmap.mmap(-1, len(model))
                copy.write(model[:])
            yield copy

    return Cache()
