def explain(before, after):
    from statistics import mean

    pairs = list(zip(before, after, strict=True))
    own = [new["private_dirty"] - old["private_dirty"] for old, new in pairs]
    resident = [new["rss"] - old["rss"] for old, new in pairs]
    words = {
        (True, False): "copied",
        (True, True): "own",
        (False, True): "lent",
        (False, False): "flat",
    }
    return sum(own), words[mean(own) > 8 * 2**20, mean(resident) > 8 * 2**20]
