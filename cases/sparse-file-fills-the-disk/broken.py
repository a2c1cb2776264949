size = 64 << 20
with open("database", "wb") as file:
    file.write(b"some data")
    file.truncate(size)

with open("database", "rb") as file, open("copy", "wb") as copy:
    while piece := file.read(1 << 20):
        copy.write(piece)
