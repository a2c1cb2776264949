# expect: raised
def copy_small(source, target):
    with open(source, "rb") as f, open(target, "w") as g:
        while chunk := f.read(2**20):
            g.write(chunk)
