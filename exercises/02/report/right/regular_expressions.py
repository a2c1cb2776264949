def explain(report):
    import re

    def size(name):
        return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB", report, re.M)[1])

    lent, own = size("RssFile"), size("RssAnon") + size("RssShmem")
    total = lent + own
    return (
        lent,
        own,
        "page cache" if 4 * lent >= 3 * total else "own memory" if 4 * own >= 3 * total else "both",
    )
