# expect: other-answer, half
def explain(size, before, after):
    was, now = before["processes"], after["processes"]
    needed = max(a["VmHWM"] - b["VmHWM"] for b, a in zip(was, now))
    own = sum(a["RssAnon"] - b["RssAnon"] for b, a in zip(was, now))
    gone = sum(a["VmHWM"] - a["RssAnon"] - a["RssFile"] for a in now)
    if own > needed / 2:
        return needed, "copied"
    if gone > 8 * 2**20:
        return needed, "evicted"
    return needed, "part" if needed < size / 2 else "cached"
