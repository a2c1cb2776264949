# expect: other-answer, half
def explain(size, before, after):
    needed = 0
    for was, now in zip(before["processes"], after["processes"]):
        needed += now["VmHWM"] - now["RssFile"] + now["Pss_File"] - was["RssAnon"] - was["Pss_File"]
    return needed, "cached"
