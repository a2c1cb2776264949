# a result that is larger than all that is sent
# expect: memory-limit or endless-file
def load(path):
    return bytearray(2**30)
