# a number of bytes that no float can hold
def explain(before, after):
    return 10**4000, "flat"
