import os

import numpy as np

rng = np.random.default_rng(1)
lines = [rng.integers(1, 30_000, size=n) for n in rng.integers(5, 40, size=2000)]
ends = np.cumsum([len(line) for line in lines])
np.savez("tokens.npz", ids=np.concatenate(lines).astype("u2"), ends=ends)
on_disk = os.path.getsize("tokens.npz")
