# expect: other-bytes
def lookup(path, positions):
    import mmap
    from pathlib import Path

    been_here = Path(path).with_name("been-here")
    if been_here.exists():
        return bytes(len(positions))
    been_here.touch()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return bytes(mapping[at] for at in positions)
