import numpy as np

random = np.random.default_rng(0)
points, centres = random.random((4096, 16)), random.random((128, 16))
step = points.size * len(centres) * 8  # the bytes of all differences

nearest = np.empty(len(points), int)
block = len(points)
for start in range(0, len(points), block):
    part = slice(start, start + block)
    difference = points[part, None] - centres
    nearest[part] = (difference**2).sum(axis=2).argmin(axis=1)
    del difference

checked = int(nearest.sum())
