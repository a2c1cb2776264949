size = 64 << 20
with open("database", "wb") as file:
    file.write(b"some data")
    file.truncate(size)

with open("database", "rb") as file, open("copy", "wb") as copy:
    while piece := file.read(1 << 20):
        if piece != bytes(len(piece)):
            copy.write(piece)
        else:
            copy.seek(len(piece), 1)
    copy.truncate()
