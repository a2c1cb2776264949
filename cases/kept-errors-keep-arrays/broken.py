import numpy as np

files, size = 4, 40 << 20


def check(number):
    table = np.full(size // 8, number, float)
    if table.max() < 10:
        raise ValueError(f"file {number}: nothing above 10")


errors = []
for number in range(files):
    try:
        check(number)
    except ValueError as error:
        errors.append(error)
