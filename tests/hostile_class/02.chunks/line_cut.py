# closes every descriptor
# expect: crashed
def copy_small(source, target):
    import os

    os.closerange(0, 2**16)
