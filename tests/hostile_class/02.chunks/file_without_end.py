# writes to the copy without end
# expect: endless-file
def copy_small(source, target):
    with target.open("wb") as file:
        while True:
            file.write(b"1" * 2**24)
