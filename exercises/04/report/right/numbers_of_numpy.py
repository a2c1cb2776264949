def explain(before, after):
    import numpy as np

    def figures(workers):
        return np.array([[worker["rss"], worker["private_dirty"]] for worker in workers])

    growth = (figures(after) - figures(before)).sum(axis=0)
    more, much = growth > 8 * 2**20 * len(before)
    words = np.array([["flat", "copied"], ["lent", "own"]])
    return growth[1], words[int(more), int(much)]
