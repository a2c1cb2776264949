def explain(folder, workers):
    import re

    piece = re.compile(
        rf"^(\w+)-(\w+) \S+ (\w+) (\S+ \d+) +{re.escape(folder)}/[^/\n]+?( \(deleted\))?$", re.M
    )
    found = [piece.findall(text) for text in workers]
    size = {}
    for first, after, offset, file, gone in (one for lines in found for one in lines):
        if gone:
            size[file] = max(size.get(file, 0), int(offset, 16) + int(after, 16) - int(first, 16))
    states = [{bool(gone) for *_, gone in lines} for lines in found]
    return sum(size.values()), "kept" if {True, False} in states else "idle" if {
        True
    } in states else "fine"
