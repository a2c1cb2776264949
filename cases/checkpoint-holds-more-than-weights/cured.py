import pickle
from pathlib import Path

import numpy as np

size = 24 << 20
weights = {f"layer{n}": np.ones(size // 4 // 3, np.float32) for n in range(3)}
adam = {name: (np.zeros_like(layer), np.zeros_like(layer)) for name, layer in weights.items()}
with open("model.ckpt", "wb") as file:
    pickle.dump({"weights": weights}, file, protocol=5)
on_disk = Path("model.ckpt").stat().st_size
