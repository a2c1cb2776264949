def lookup(path, positions):
    with open(path, "rb", buffering=0) as file:
        found = {}
        for at in sorted(set(positions)):
            file.seek(at)
            found[at] = file.read(1)
    return b"".join(found[at] for at in positions)
