# a tuple of words of twenty million letters
# expect: not-sent
def explain(report):
    return "1" * 10**7, "2" * 10**7, "page cache" * 10**6
