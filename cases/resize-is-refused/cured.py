import numpy as np

samples = np.arange(10)
newest = samples[-3:]
samples = np.concatenate([samples, np.zeros(10, int)])
length = len(samples)
