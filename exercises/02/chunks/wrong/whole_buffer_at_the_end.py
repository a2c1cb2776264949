# expect: too-long
def copy_small(source, target):
    buffer = bytearray(2**20)
    with open(source, "rb") as f, open(target, "wb") as g:
        while f.readinto(buffer):
            g.write(buffer)
