import resource

import numpy as np

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))  # ulimit -n

paths = [f"part{n}" for n in range(250)]
for path in paths:
    np.ones(100).tofile(path)

parts = [np.memmap(path, float, "r") for path in paths]
total = sum(float(part.sum()) for part in parts)
