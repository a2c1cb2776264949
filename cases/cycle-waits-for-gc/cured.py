import weakref

import numpy as np

rounds, size = 4, 40 << 20


class Table:
    def __init__(self):
        self.values = np.ones(size // 8)
        self.index = Index(self)


class Index:
    def __init__(self, table):
        self.table = weakref.ref(table)


for _ in range(rounds):
    table = Table()
del table
