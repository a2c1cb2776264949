import numpy as np

table = np.asfortranarray([[1, 2, 3], [4, 5, 6]])
with open("table", "wb") as file:
    file.write(table.tobytes(order="A"))
first_row = np.fromfile("table", int).reshape(2, 3, order="F")[0].tolist()
