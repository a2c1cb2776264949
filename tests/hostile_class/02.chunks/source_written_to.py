# writes to the file that was handed out, under a mode that forbids it
# expect: source-changed
def copy_small(source, target):
    import os

    with source.open("r+b") as file:
        os.chmod(source, 0)
        file.write(b"zeros")
    os.chmod(source, 0o644)
    target.write_bytes(b"zeros")
