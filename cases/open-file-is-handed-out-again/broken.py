import shutil

import h5py

for rows in (10, 20):
    with h5py.File(f"{rows}.h5", "w") as file:
        file["table"] = [float(rows)] * rows

shutil.copy("10.h5", "today.h5")
yesterday = h5py.File("today.h5")
before = len(yesterday["table"])
shutil.copy("20.h5", "today.h5")
today = h5py.File("today.h5")
after, first = len(today["table"]), float(today["table"][0])
