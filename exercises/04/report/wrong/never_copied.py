# expect: wrong-word, half
def explain(before, after):
    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)

    much = 8 * 2**20 * len(before)
    taken = growth("private_dirty")
    return taken, "own" if taken > much else "lent" if growth("rss") > much else "flat"
