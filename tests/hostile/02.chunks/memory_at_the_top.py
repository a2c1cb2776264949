# takes its memory where the cell is executed, before the function is called
KEPT = bytearray(b"x" * (64 << 20))


def copy_small(source, target):
    with open(source, "rb") as file, open(target, "wb") as copy:
        while count := file.readinto(KEPT):
            copy.write(memoryview(KEPT)[:count])
