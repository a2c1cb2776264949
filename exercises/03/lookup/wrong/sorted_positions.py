# expect: order-of-the-file
def lookup(path, positions):
    found = b""
    with open(path, "rb", buffering=0) as file:
        for at in sorted(positions):
            file.seek(at)
            found += file.read(1)
    return found
