from functools import cache

import numpy as np

requests, longest = 100, 300


@cache  # a few lines for what a compiler, or a library of kernels, keeps for each shape
def plan(length):
    return np.cos(np.outer(np.arange(length), np.arange(64)) / longest)


def transform(signal):
    return signal @ plan(len(signal))


total = 0.0
for length in range(longest - requests, longest):
    signal = np.ones(length)
    total += float(transform(signal)[0])
plans = plan.cache_info().currsize
