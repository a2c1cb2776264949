import pickle

import numpy as np

size = 64 << 20
state = {"step": 7, "weights": np.ones(size // 8)}
with open("checkpoint", "wb") as file:
    file.write(pickle.dumps(state))
