# What `free` says is case("map-counts-as-resident") of helpers.casebook.
def explain(size, before, after):
    """(bytes needed, word) from what a server showed before and after it answered."""
    own = shared = gone = 0
    for was, now in zip(before["processes"], after["processes"]):
        own += now["RssAnon"] - was["RssAnon"]
        shared += now["Pss_File"] - was["Pss_File"]
        gone += now["VmHWM"] - now["RssAnon"] - now["RssFile"]
    needed = own + shared + gone
    if own > needed / 2:
        return needed, "copied"
    if gone > 8 * 2**20:
        return needed, "evicted"
    return needed, "part" if needed < size / 2 else "cached"
