import numpy as np

calls, size = 4, 40 << 20
saved = []


def save(image):
    saved.append(int(image[0]))


for n in range(calls):
    save(np.full(size // 8, n, float))
