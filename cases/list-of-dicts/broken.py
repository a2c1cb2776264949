count, fields = 100_000, ("time", "price", "volume", "fee")
with open("trades.csv", "w") as file:
    file.writelines(f"{n}.5,{n}.25,{n}.75,{n}.1\n" for n in range(count))


def numbers(line):
    return tuple(map(float, line.split(",")))


with open("trades.csv") as file:
    rows = [dict(zip(fields, numbers(line), strict=True)) for line in file]
total = float(sum(row["price"] for row in rows))
size = count * len(fields) * 8
