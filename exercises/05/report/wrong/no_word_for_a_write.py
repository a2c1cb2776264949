# expect: wrong-word, half
def explain(report):
    from math import prod

    before, after = report["anonymous"]
    taken = after - before
    if taken < 2**20:
        return taken, "view"
    if report["dtype"][0] != report["dtype"][1]:
        return taken, "dtype"
    if prod(report["shape"][0]) != prod(report["shape"][1]):
        return taken, "fancy"
    return taken, "values" if report["strides"][0] == report["strides"][1] else "layout"
