# expect: too-much-memory
def copy_small(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        g.write(f.read())
