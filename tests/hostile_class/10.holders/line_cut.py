# closes every descriptor
# expect: crashed
def find(session, mapping):
    import os

    os.closerange(0, 2**16)
