import numpy as np

image = np.zeros((480, 640), np.uint8)
mirrored = image[:, ::-1]
with open("image.raw", "wb") as file:
    file.write(mirrored)
