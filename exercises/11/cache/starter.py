def make_cache(most, load):
    """A cache, for `with cache.lend(path) as mapping`.

    It has at most `most` models mapped, or as many as are lent.
    """
    ...
