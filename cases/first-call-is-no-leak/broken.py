import os


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(path):
    import pandas as pd

    return len(pd.read_csv(path))


with open("table.csv", "w") as file:
    file.write("a,b\n1,2\n")
before = resident()
rows = load("table.csv")
grown = resident() - before
