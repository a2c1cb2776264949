import os
import subprocess
import sys

size = 64 << 20
TASK = f"""
import numpy as np
table = np.zeros({size}, np.uint8)
table[:: 2 << 20] = 1
with open("/proc/self/smaps_rollup") as file:
    print([line.split()[1] for line in file if line.startswith("Anonymous:")][0])
"""
environment = os.environ | {"NUMPY_MADVISE_HUGEPAGE": "0"}
said = subprocess.run([sys.executable, "-c", TASK], env=environment, capture_output=True)
taken = int(said.stdout) << 10
