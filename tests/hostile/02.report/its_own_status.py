# ignores the report and tells of the process that it runs in
def explain(report):
    with open("/proc/self/status") as file:
        lines = (line.split() for line in file)
        size = {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}
    lent, own = size["RssFile:"], size["RssAnon:"] + size["RssShmem:"]
    return lent, own, "page cache" if lent >= 3 * own else "own memory" if own >= 3 * lent else "both"
