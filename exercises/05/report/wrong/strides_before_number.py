# expect: wrong-word
def explain(report):
    before, after = report["anonymous"]
    taken = after - before
    if taken < 2**20:
        return taken, "view"
    if report["shares_memory"]:
        return taken, "write"
    if report["dtype"][0] != report["dtype"][1]:
        return taken, "dtype"
    if report["strides"][0] != report["strides"][1]:
        return taken, "layout"
    return taken, "values" if report["shape"][0] == report["shape"][1] else "fancy"
