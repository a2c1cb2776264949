# expect: raised
def copy(source, target):
    return source.read()
