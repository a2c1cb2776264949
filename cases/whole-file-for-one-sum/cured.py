import pandas as pd

count = 3_000_000
with open("sales.csv", "w") as file:
    file.write("shop,price\n" + "7,2\n" * count)

pieces = pd.read_csv("sales.csv", chunksize=100_000)
total = sum(int(sales["price"].sum()) for sales in pieces)
