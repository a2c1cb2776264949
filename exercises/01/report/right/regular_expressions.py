import re


def gained(name, before, after):
    then, now = (
        1024 * int(re.search(rf"^{name}:\s+(\d+) kB$", text, re.M)[1]) for text in (before, after)
    )
    return now - then


def verdict(before, after):
    lent = gained("RssFile", before, after)
    own = gained("RssAnon", before, after) + gained("RssShmem", before, after)
    words = {
        (True, False): "lent",
        (False, True): "leak",
        (True, True): "both",
        (False, False): "neither",
    }
    return lent, own, words[lent > 2**20, own > 2**20]
