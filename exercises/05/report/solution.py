# Cases of helpers.casebook: case("converted-beside-the-map") is "dtype",
# case("one-byte-copies-the-page") "write", case("index-list-copies") "fancy",
# case("contiguous-copy-for-each-call") "layout".
def explain(report):
    """(bytes taken, word) from what a step was given and what it made."""
    from math import prod

    before, after = report["anonymous"]
    taken = after - before
    given, made = zip(report["dtype"], map(prod, report["shape"]), report["strides"])
    if taken < 2**20:
        return taken, "view"
    if report["shares_memory"]:
        return taken, "write"
    for word, one, other in zip(("dtype", "fancy", "layout"), given, made):
        if one != other:
            return taken, word
    return taken, "values"
