# expect: unit, half
def explain(report):
    lines = (line.split() for line in report.splitlines())
    size = {words[0]: int(words[1]) * 1000 for words in lines if words[-1:] == ["kB"]}
    lent, own = size["RssFile:"], size["RssAnon:"] + size["RssShmem:"]
    share = lent / (lent + own)
    return lent, own, "page cache" if share >= 0.75 else "own memory" if share <= 0.25 else "both"
