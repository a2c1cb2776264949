import os

import numpy as np

workers = 4
generators = np.random.default_rng(7).spawn(workers)

drawn = []
for generator in generators:
    result, answer = os.pipe()
    if os.fork() == 0:
        os.write(answer, generator.bytes(8))
        os._exit(0)
    os.wait()
    drawn.append(os.read(result, 8))
different = len(set(drawn))
