def copy_small(source, target):
    """Make `target` equal to `source`, within 32 MiB of anonymous memory."""
    # a large bytearray begins 16 bytes into a page: slow on some AMD
    buffer = memoryview(bytearray(2**20 + 16))[16:]
    with open(source, "rb", buffering=0) as f, open(target, "wb") as g:
        while n := f.readinto(buffer):
            g.write(buffer[:n])
