# expect: wrong-meter
def explain(before, after):
    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)

    much = 8 * 2**20 * len(before)
    taken = growth("pss")
    return taken, "copied" if taken > much else "flat"
