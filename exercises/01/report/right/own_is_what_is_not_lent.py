def verdict(before, after):
    def sizes(text):
        found = {}
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                found[name] = int(value[:-3]) * 1024
        return found

    old, new = sizes(before), sizes(after)
    lent = new["RssFile"] - old["RssFile"]
    own = new["VmRSS"] - old["VmRSS"] - lent
    match lent > 2**20, own > 2**20:
        case True, True:
            word = "both"
        case True, False:
            word = "lent"
        case False, True:
            word = "leak"
        case _:
            word = "neither"
    return [lent, own, word]
