# expect: wrong-word, half
def explain(report):
    lines = (line.split() for line in report.splitlines())
    size = {words[0]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}
    return size["RssFile:"], size["RssAnon:"] + size["RssShmem:"], "page cache"
