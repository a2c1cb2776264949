# numbers with more digits than may be printed, and none that is one
# expect: raised or not-sent
def explain(report):
    return 10**5000, float("nan"), "both"
