# another program moves the file, which may have it mapped here
def swap(path, offset, count, new):
    import subprocess

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    subprocess.run(["mv", new, path], check=True)
    return layer
