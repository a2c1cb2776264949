# Numbers that are larger than Python will print, and one that is none.
def explain(report):
    before, after = report["anonymous"]
    return 10**100_000 + after - before, float("nan")
