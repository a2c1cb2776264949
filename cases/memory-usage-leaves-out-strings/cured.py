import pandas as pd

count = 200_000
names = [f"customer number {n} of the year" for n in range(count)]
frame = pd.DataFrame({"name": pd.Series(names, dtype=object)})
del names
said = int(frame.memory_usage(deep=True).sum())
