import os

import numpy as np

rng = np.random.default_rng(1)
lines = [rng.integers(1, 30_000, size=n) for n in rng.integers(5, 40, size=2000)]
ids = np.zeros((len(lines), 128), "i8")
for n, line in enumerate(lines):
    ids[n, : len(line)] = line
np.savez("tokens.npz", ids=ids, mask=(ids > 0).astype("i8"))
on_disk = os.path.getsize("tokens.npz")
