import pickle

import numpy as np


def work(argument):
    results = np.memmap(pickle.loads(argument), mode="r+")
    results[:] = 1


results = np.memmap("results", mode="w+", shape=1000)
work(pickle.dumps("results"))
done = int(results.sum())
