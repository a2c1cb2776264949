import pandas as pd

frame = pd.DataFrame({"price": [3.0, -1.0, 2.0]})
frame["price"][frame["price"] < 0] = 0
lowest = float(frame["price"].min())
