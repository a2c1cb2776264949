import pandas as pd

count = 3_000_000
with open("sales.csv", "w") as file:
    file.write("shop,price\n" + "7,2\n" * count)

sales = pd.read_csv("sales.csv")
total = int(sales["price"].sum())
