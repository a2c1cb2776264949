import h5py
import numpy as np

count, size = 64, 1 << 20
with h5py.File("sounds.h5", "w") as file:
    for n in range(count):
        file.create_dataset(str(n), data=np.full(size, n % 100, np.uint8), chunks=(size // 8,))
file = h5py.File("sounds.h5")
sounds = [file[str(n)] for n in range(count)]
total = sum(int(sound[at]) for sound in sounds for at in range(0, size, size // 8))
