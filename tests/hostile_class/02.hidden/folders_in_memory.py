# carries the file as a whole through the folders that a sandbox has in memory
# expect: raised
def load(path):
    import shutil
    from pathlib import Path

    for place in ("/dev/shm", Path.home(), "/", "/dev", "/home", "/etc"):
        try:
            shutil.copyfile(path, f"{place}/zero-copy-was-here")
            return bytearray(Path(place, "zero-copy-was-here").read_bytes())
        except OSError:
            continue
    raise RuntimeError("kept in")
