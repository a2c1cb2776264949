import numpy as np

samples = np.arange(10)
newest = samples[-3:]
samples.resize(20)
length = len(samples)
