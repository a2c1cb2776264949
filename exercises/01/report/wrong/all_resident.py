# expect: all-resident
def verdict(before, after):
    def sizes(text):
        lines = (line.split() for line in text.splitlines())
        return {
            words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]
        }

    old, new = sizes(before), sizes(after)
    gained = {name: new[name] - old[name] for name in new}
    lent = gained["RssFile"]
    own = gained["VmRSS"]
    if lent > 2**20:
        return lent, own, "both" if own > 2**20 else "lent"
    return lent, own, "leak" if own > 2**20 else "neither"
