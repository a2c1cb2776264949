# This report is case("map-counts-as-resident") of helpers.casebook; a leak is
# case("leak-below-python").
def verdict(before, after):
    """(lent bytes gained, own bytes gained, word) from two status texts."""

    def sizes(text):
        lines = (line.split() for line in text.splitlines())
        return {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}

    old, new = sizes(before), sizes(after)
    gained = {name: new[name] - old[name] for name in new}
    lent, own = gained["RssFile:"], gained["RssAnon:"] + gained["RssShmem:"]
    if lent > 2**20:
        return lent, own, "both" if own > 2**20 else "lent"
    return lent, own, "leak" if own > 2**20 else "neither"
