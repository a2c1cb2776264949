# expect: link
def copy_small(source, target):
    import os

    os.link(source, target)
