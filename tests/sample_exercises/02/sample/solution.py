def copy(source, target):
    buffer = bytearray(1 << 20)  # solution-only-text
    with open(source, "rb") as f, open(target, "wb") as g:
        while n := f.readinto(buffer):
            g.write(memoryview(buffer)[:n])
