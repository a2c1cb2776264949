# expect: still-running
def copy_small(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        while True:
            g.write(f.read(2**20))
