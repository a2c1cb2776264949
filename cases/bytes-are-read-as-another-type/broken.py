import ctypes

import numpy as np


class Reading(ctypes.Structure):  # as in C: struct { char sensor; double value; }
    _fields_ = [("sensor", ctypes.c_char), ("value", ctypes.c_double)]


with open("readings", "wb") as file:
    file.write((Reading * 3)((b"a", 20.5), (b"b", 21.0), (b"c", 21.5)))

layout = np.dtype([("sensor", "S1"), ("value", np.float64)])
values = np.fromfile("readings", layout)["value"].tolist()
