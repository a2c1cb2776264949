# expect: wrong-word, half
def explain(before, after):
    def growth(meter):
        return [new[meter] - old[meter] for old, new in zip(before, after, strict=True)]

    taken, much = sum(growth("private_dirty")), 8 * 2**20
    if taken > much:
        return taken, "own" if max(growth("rss")) > much else "copied"
    return taken, "lent" if max(growth("rss")) > much else "flat"
