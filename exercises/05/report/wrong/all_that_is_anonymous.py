# expect: at-the-end, half
def explain(report):
    from math import prod

    before, after = report["anonymous"]
    taken = after
    if after - before < 2**20:
        return taken, "view"
    if report["shares_memory"]:
        return taken, "write"
    if report["dtype"][0] != report["dtype"][1]:
        return taken, "dtype"
    if prod(report["shape"][0]) != prod(report["shape"][1]):
        return taken, "fancy"
    return taken, "values" if report["strides"][0] == report["strides"][1] else "layout"
