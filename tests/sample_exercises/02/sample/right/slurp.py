def copy(source, target):
    target.write_bytes(source.read_bytes())
