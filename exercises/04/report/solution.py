# This report is case("fork-copies-objects") of helpers.casebook.
def explain(before, after):
    """(bytes taken, word) from what each worker had before and after."""

    def growth(meter):
        return sum(worker[meter] for worker in after) - sum(worker[meter] for worker in before)

    taken, more, much = growth("private_dirty"), growth("rss"), 8 * 2**20 * len(before)
    if taken > much:
        return taken, "own" if more > much else "copied"
    return taken, "lent" if more > much else "flat"
