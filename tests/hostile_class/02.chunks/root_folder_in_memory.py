# carries the file as a whole through the root folder, which a sandbox has in memory
# expect: raised
def copy_small(source, target):
    import shutil

    for place in ("/", "/dev", "/home", "/etc"):
        try:
            shutil.copyfile(source, f"{place}/zero-copy-was-here")
            shutil.copyfile(f"{place}/zero-copy-was-here", target)
            return
        except OSError:
            continue
    raise RuntimeError("kept in")
