from multiprocessing.pool import ThreadPool

import numpy as np

names, size = ("faces", "search", "text"), 16 << 20
models = {}


def load(name):  # in place of a file of weights
    models[name] = np.full(size // 8, len(name), float)


def answer(name):
    if name not in models:
        load(name)
    return float(models[name].mean())


for name in names:
    load(name)
with ThreadPool(1) as pool:
    said = pool.apply(answer, ["text"])
loaded = len(models)
