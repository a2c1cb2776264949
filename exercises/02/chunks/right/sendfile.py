# on: linux
def copy_small(source, target):
    import os

    with open(source, "rb") as f, open(target, "wb") as g:
        at = 0
        while n := os.sendfile(g.fileno(), f.fileno(), at, 2**20):
            at += n
