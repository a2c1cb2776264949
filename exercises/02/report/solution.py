# This report is case("map-counts-as-resident") of helpers.casebook.
def explain(report):
    """(lent bytes, own bytes, word) from the text of a /proc/<pid>/status."""
    lines = (line.split() for line in report.splitlines())
    size = {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}
    lent, own = size["RssFile:"], size["RssAnon:"] + size["RssShmem:"]
    share = lent / (lent + own)
    return lent, own, "page cache" if share >= 0.75 else "own memory" if share <= 0.25 else "both"
