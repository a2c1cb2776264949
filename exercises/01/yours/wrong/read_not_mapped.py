# expect: no-mapping
def yours(path, pages):
    with open(path, "rb") as file:
        return bytearray(file.read())
