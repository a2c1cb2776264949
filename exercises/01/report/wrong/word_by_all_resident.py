# expect: wrong-word, half
def verdict(before, after):
    def sizes(text):
        lines = (line.split() for line in text.splitlines())
        return {
            words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]
        }

    old, new = sizes(before), sizes(after)
    gained = {name: new[name] - old[name] for name in new}
    lent = gained["RssFile"]
    own = gained["RssAnon"] + gained["RssShmem"]
    return lent, own, "leak" if gained["VmRSS"] > 2**20 else "neither"
