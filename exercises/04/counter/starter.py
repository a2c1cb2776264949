def add(path, times):
    """Add 1 to the counter in the file, `times` times."""
    import mmap

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
