# expect: large-reads
# on: linux
def lookup(path, positions):
    with open(path, "rb") as file:
        data = file.read()
    return bytes(data[at] for at in positions)
