# on: linux
def copy_small(source, target):
    import os

    with open(source, "rb") as f, open(target, "wb") as g:
        while os.copy_file_range(f.fileno(), g.fileno(), 2**30):
            pass
