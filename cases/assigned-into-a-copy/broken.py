import numpy as np

image = np.zeros((4, 4), int)
rows = [1, 2]
image[rows][:, 0] = 255
white = int(image.sum())
