# expect: large-reads
# on: linux
def lookup(path, positions):
    found = b""
    with open(path, "rb") as file:
        for at in positions:
            file.seek(at)
            found += file.read(1)
    return found
