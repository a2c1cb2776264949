def explain(size, before, after):
    import numpy as np

    was, now = before["processes"], after["processes"]
    own = sum(a["RssAnon"] - b["RssAnon"] for b, a in zip(was, now, strict=True))
    gone = sum(a["VmHWM"] - a["RssAnon"] - a["RssFile"] for a in now)
    if len(now) == 1:
        needed = now[0]["VmHWM"] - was[0]["RssAnon"] - was[0]["RssFile"]
    else:
        needed = (
            own + gone + sum(a["Pss_File"] - b["Pss_File"] for b, a in zip(was, now, strict=True))
        )
    if own > needed / 2:
        return np.int64(needed), "copied"
    return [
        np.int64(needed),
        np.str_("evicted" if gone > 2**23 else "part" if needed < size / 2 else "cached"),
    ]
