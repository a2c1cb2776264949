# expect: source-gone
def copy_small(source, target):
    import os

    os.replace(source, target)
