# This report is case("deleted-and-still-there") of helpers.casebook.
def explain(folder, workers):
    """(bytes of disk held by old versions, a word) from the /proc/PID/maps of each worker."""
    ends, word = {}, "fine"
    for text in workers:
        has_old = has_current = False
        for line in text.splitlines():
            addresses, _, offset, device, inode, *path = line.split(maxsplit=5)
            if not path or not path[0].startswith(f"{folder}/"):
                continue
            if not path[0].endswith(" (deleted)"):
                has_current = True
                continue
            has_old = True
            first, after = (int(address, 16) for address in addresses.split("-"))
            end = int(offset, 16) + after - first
            ends[device, inode] = max(end, ends.get((device, inode), 0))
        if has_old and word != "kept":
            word = "kept" if has_current else "idle"
    return sum(ends.values()), word
