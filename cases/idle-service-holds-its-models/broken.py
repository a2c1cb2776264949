from multiprocessing.pool import ThreadPool

import numpy as np

size = 48 << 20
models = {}


def answer(name):
    if name not in models:
        models[name] = np.full(size // 8, len(name), float)  # in place of a file of weights
    return float(models[name].mean())


if __name__ == "__main__":
    with ThreadPool(1) as pool:
        said = pool.apply(answer, ["text"])
    loaded = len(models)
