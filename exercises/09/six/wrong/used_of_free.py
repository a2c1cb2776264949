# expect: used, half
def explain(size, before, after):
    own = shared = gone = 0
    for was, now in zip(before["processes"], after["processes"]):
        own += now["RssAnon"] - was["RssAnon"]
        shared += now["Pss_File"] - was["Pss_File"]
        gone += now["VmHWM"] - now["RssAnon"] - now["RssFile"]
    if own > shared:
        word = "copied"
    elif gone > 8 * 2**20:
        word = "evicted"
    else:
        word = "part" if own + shared + gone < size / 2 else "cached"
    return after["free"]["used"] - before["free"]["used"], word
