def save(array, path):
    """Replaces the file at `path` with one that holds the bytes of `array`."""
    with open(path, "wb") as file:
        file.write(array)
