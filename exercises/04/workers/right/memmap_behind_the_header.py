def load(path):
    import numpy as np

    with path.open("rb") as f:
        version = np.lib.format.read_magic(f)
        shape, _, dtype = np.lib.format.read_array_header_1_0(f)
        assert version == (1, 0)
        return np.memmap(path, dtype, "r", f.tell(), shape)
