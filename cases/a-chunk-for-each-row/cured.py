import h5py
import numpy as np

with h5py.File("table.h5", "w") as file:
    table = np.random.default_rng(1).random((1200, 1000))
    file.create_dataset("table", data=table, chunks=(1200, 1000), compression="lzf")

with h5py.File("table.h5", rdcc_nbytes=16 << 20) as file:
    rows = file["table"]
    total = sum(float(rows[n].sum()) for n in range(0, 1200, 40))
