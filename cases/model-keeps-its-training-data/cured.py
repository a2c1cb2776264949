import pickle
import weakref

import numpy as np

rows, columns, count = 20_000, 20, 4


class Fit:
    def __init__(self, data, target):
        self.weights = np.linalg.solve(data.T @ data, data.T @ target)

    def predict(self, data):
        return data @ self.weights


models, seen = [], []
for seed in range(count):
    data = np.random.default_rng(seed).random((rows, columns))
    models.append(Fit(data, data.sum(axis=1)))
    seen.append(weakref.ref(data))
    del data
still_there = sum(one() is not None for one in seen)
saved = len(pickle.dumps(models))
