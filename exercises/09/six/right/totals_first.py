def explain(size, before, after):
    def total(moment, *meters):
        return sum(process[meter] for process in moment["processes"] for meter in meters)

    own = total(after, "RssAnon") - total(before, "RssAnon")
    shared = total(after, "Pss_File") - total(before, "Pss_File")
    gone = total(after, "VmHWM") - total(after, "RssAnon", "RssFile")
    needed = own + shared + gone
    rules = {
        "copied": own > needed / 2,
        "evicted": gone > 8 * 2**20,
        "part": needed < size / 2,
        "cached": True,
    }
    return needed, next(word for word, holds in rules.items() if holds)
