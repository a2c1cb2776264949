import gzip
import os

import numpy as np
import pandas as pd

people, questions = 600_000, 8
answers = np.random.default_rng(1).integers(1, 6, (people, questions), np.uint8)
text = np.full((people, 2 * questions), ord(","), np.uint8)
text[:, ::2] = answers + ord("0")
text[:, -1] = ord("\n")
with gzip.open("answers.csv.gz", "wb", 1) as file:
    file.write(text.tobytes())
del text, answers

frame = pd.read_csv("answers.csv.gz", header=None, dtype=np.int8)
in_memory = int(frame.memory_usage(deep=True).sum())
in_file = os.path.getsize("answers.csv.gz")
