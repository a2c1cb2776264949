import random
import zlib

import numpy as np

images, buffer_size, size = 18, 12, 4 << 20
files = [zlib.compress(bytes([n]) * size, 1) for n in range(images)]


def decode(file):
    return np.frombuffer(zlib.decompress(file, bufsize=size), np.uint8)


def shuffled(items):
    buffer = []
    for item in items:
        buffer.append(item)
        if len(buffer) == buffer_size:
            yield buffer.pop(random.randrange(buffer_size))
    random.shuffle(buffer)
    yield from buffer


total = sum(int(image.max()) for image in map(decode, shuffled(files)))
