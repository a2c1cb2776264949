import pandas as pd

stations, days = 2, 1000
keys = pd.MultiIndex.from_product([range(stations), range(days)], names=["station", "day"])
heat = pd.DataFrame({"heat": 1.0}, index=keys).reset_index()
rain = pd.DataFrame({"rain": 1.0}, index=keys).reset_index()
both = heat.merge(rain, on=["station", "day"])
rows = len(both)
