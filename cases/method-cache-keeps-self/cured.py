from functools import cached_property

import numpy as np

images, size = 4, 40 << 20


class Image:
    def __init__(self, number):
        self.pixels = np.full(size // 8, number, float)

    @cached_property
    def mean(self):
        return self.pixels.mean()


means = [float(Image(n).mean) for n in range(images)]
