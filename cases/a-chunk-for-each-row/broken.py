import h5py
import numpy as np

with h5py.File("table.h5", "w") as file:
    table = np.random.default_rng(1).random((500, 500))
    file.create_dataset("table", data=table, chunks=(500, 500), compression="gzip")

with h5py.File("table.h5", rdcc_nbytes=0) as file:
    rows = file["table"]
    total = sum(float(rows[n].sum()) for n in range(0, 500, 10))
