import os

import h5py

to_parent, to_child = os.pipe(), os.pipe()
if (writer := os.fork()) == 0:
    os.close(to_child[1])
    file = h5py.File("run.h5", "w")
    file["steps"] = [1, 2, 3]
    file.flush()
    os.write(to_parent[1], b"written")
    os.read(to_child[0], 1)  # goes on until the parent closes its end
    os._exit(0)
os.read(to_parent[0], 7)
try:
    with h5py.File("run.h5") as file:
        steps = file["steps"][:]
finally:
    os.close(to_child[1])
    os.waitpid(writer, 0)
