# fills the disk in a folder that nobody may enter
# expect: unreadable
def copy_small(source, target):
    import os

    os.mkdir("door")
    held = [open(f"door/{number}", "wb") for number in range(20)]
    os.chmod("door", 0)
    for file in held:
        os.posix_fallocate(file.fileno(), 0, 2**29)
    while True:
        pass
