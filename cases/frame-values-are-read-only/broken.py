import pandas as pd

frame = pd.DataFrame({"price": [3.0, -1.0, 2.0]})
prices = frame["price"].to_numpy()
prices[prices < 0] = 0
frame["price"] = prices
