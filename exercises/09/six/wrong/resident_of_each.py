# expect: counted-twice, half
def explain(size, before, after):
    def grew(meter):
        return sum(
            now[meter] - was[meter] for was, now in zip(before["processes"], after["processes"])
        )

    own = grew("RssAnon")
    gone = sum(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    needed = own + grew("RssFile")
    if own > needed / 2:
        word = "copied"
    elif gone > 8 * 2**20:
        word = "evicted"
    else:
        word = "part" if needed < size / 2 else "cached"
    return needed, word
