# expect: wrong-taken
def explain(before, after):
    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)

    much = 8 * 2**20 * len(before)
    taken = growth("private_dirty") // len(before)
    return taken, "own" if growth("rss") > much else "copied"
