import pandas as pd

frame = pd.DataFrame({"price": [3.0, -1.0, 2.0]})
frame.loc[frame["price"] < 0, "price"] = 0
lowest = float(frame["price"].min())
