# expect: at-the-end
def explain(before, after):
    taken = sum(worker["private_dirty"] for worker in after)
    return taken, "copied" if taken > 8 * 2**20 * len(after) else "flat"
