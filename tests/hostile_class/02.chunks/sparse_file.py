# a copy that has the right length, and nothing in it
# expect: other-bytes
def copy_small(source, target):
    import os

    target.touch()
    os.truncate(target, source.stat().st_size)
